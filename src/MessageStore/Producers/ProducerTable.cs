using System.Buffers.Binary;
using System.Security.Cryptography;
using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>All producers that may send with sequences. Under the log's lock, or by recovery.</summary>
/// <param name="ids">Where new ids come from; null = random ones.</param>
internal sealed class ProducerTable(Func<long>? ids = null)
{
    /// <summary>What a producer takes in memory without its queues.</summary>
    public const int ProducerBytes = 300;

    /// <summary>What a queue of a producer takes: its last batches.</summary>
    public const int WindowBytes = 850;

    private readonly Dictionary<long, ProducerState> _producers = [];
    private ProducerState? _last;
    private long _windowCount;

    /// <summary>Memory of all producers, beyond which none begins in another queue.</summary>
    public long MaxBytes { get; set; } = long.MaxValue;

    /// <summary>What all producers take in memory; may be read without the lock.</summary>
    public long Bytes => (ProducerBytes * (long)_producers.Count) + (WindowBytes * Volatile.Read(ref _windowCount));

    /// <summary>Whether one queue more of a producer would go beyond the bound.</summary>
    private bool IsFull => Bytes + WindowBytes > MaxBytes;

    /// <summary>Ids below were given out one after another by older versions; only rises.</summary>
    public long NextId { get; private set; }

    public int Count => _producers.Count;

    public IEnumerable<ProducerState> All => _producers.Values;

    /// <summary>Ids below <paramref name="nextId"/> were given out.</summary>
    public void Reserve(long nextId) => NextId = Math.Max(NextId, nextId);

    public ProducerState? Find(long id)
    {
        if (_last is not null && _last.Id == id)
            return _last;
        return _producers.TryGetValue(id, out ProducerState? producer) ? _last = producer : null;
    }

    /// <summary>An id that no producer has or had, and that none can guess: who knows one can send in its
    /// name.</summary>
    /// <param name="own">Where it comes from; null = from where all do.</param>
    public long NewId(Func<long>? own = null)
    {
        while (true)
        {
            long id = (own ?? ids)?.Invoke() ?? RandomId();
            if (id >= NextId && !_producers.ContainsKey(id))
                return id;
        }
    }

    private static long RandomId()
    {
        Span<byte> bytes = stackalloc byte[sizeof(long)];
        RandomNumberGenerator.Fill(bytes);
        return BinaryPrimitives.ReadInt64LittleEndian(bytes) & long.MaxValue;
    }

    /// <summary>A producer has (at least) this epoch now.</summary>
    public ProducerState SetEpoch(ProducerSession session)
    {
        ProducerState? producer = Find(session.Id);
        if (producer is null)
        {
            producer = new ProducerState(session.Id, session.Epoch, this);
            _producers.Add(session.Id, producer);
        }
        producer.Raise(session.Epoch);
        return producer;
    }

    public void Remove(long id)
    {
        if (_producers.Remove(id, out ProducerState? producer))
            CountWindows(-producer.Windows.Count);
        _last = null;
    }

    /// <summary>Counts queues that a producer has more, or fewer.</summary>
    public void CountWindows(int count) => Volatile.Write(ref _windowCount, _windowCount + count);

    /// <summary>The producers that are silent for longest, whose end makes room for another.</summary>
    /// <param name="maxCount">Producers that may be.</param>
    /// <param name="most">To be forgotten at once.</param>
    /// <param name="except">One that stays.</param>
    public IEnumerable<ProducerState> FindForgotten(int maxCount, int most, ProducerState? except)
    {
        int count = _producers.Count >= maxCount ? _producers.Count - maxCount + 1 + (maxCount / 100) : 0;
        bool isFull = IsFull;
        if (count == 0 && !isFull)
            yield break;
        long left = isFull ? Bytes - (MaxBytes / 10 * 9) : 0;
        foreach (ProducerState one in _producers.Values.OrderBy(one => one.LastSeenMs))
        {
            if (one == except)
                continue;
            if ((count <= 0 && left <= 0) || most-- <= 0)
                yield break;
            count--;
            left -= ProducerBytes + (WindowBytes * (long)one.Windows.Count);
            yield return one;
        }
    }

    /// <summary>Checks a batch that is about to be stored.</summary>
    /// <param name="session">Its producer, idempotent.</param>
    /// <param name="queue">Where it goes.</param>
    /// <param name="baseSequence">Sequence of its first record.</param>
    /// <param name="count">Its records.</param>
    /// <param name="crc">Its own.</param>
    /// <param name="original">With DuplicateSequence: the batch as it was stored.</param>
    /// <returns>None; DuplicateSequence: these bytes are stored; OutOfOrderSequence: a batch before it is missing, or
    /// its sequences are taken by other bytes, or by ones that are not known any more; ProducerFenced, UnknownProducer,
    /// InvalidBatch.</returns>
    public ErrorCode Check(
        ProducerSession session, QueueId queue, int baseSequence, int count, uint crc, out SequencedBatch original)
    {
        original = default;
        if (baseSequence < 0)
            return ErrorCode.InvalidBatch;
        if (Find(session.Id) is not { } producer || session.Epoch > producer.Epoch)
            return ErrorCode.UnknownProducer;
        if (session.Epoch < producer.Epoch)
            return ErrorCode.ProducerFenced;
        if (producer.Find(queue) is not { } window)
        {
            // At the bound it begins anew: then there is room, or the longest silent makes some.
            return IsFull ? ErrorCode.UnknownProducer
                : baseSequence == 0 ? ErrorCode.None
                : ErrorCode.OutOfOrderSequence;
        }
        if (baseSequence == window.NextSequence)
            return ErrorCode.None;
        bool isStored = window.TryFind(baseSequence, SequenceWindow.Follow(baseSequence, count - 1), out original)
            && (original.Crc is not { } stored || stored == crc);
        return isStored ? ErrorCode.DuplicateSequence : ErrorCode.OutOfOrderSequence;
    }

    /// <summary>A batch is stored: live after <see cref="Check"/>, or read back from the log, where its producer may
    /// be gone.</summary>
    public void Stored(
        ProducerSession session,
        QueueId queue,
        int baseSequence,
        int count,
        uint crc,
        long firstOffset,
        long endPosition,
        long storedTimeMs)
    {
        if (Find(session.Id) is not { } producer || producer.Epoch != session.Epoch)
            return;
        SequenceWindow window = producer.FindOrAdd(queue);
        if (window.AppliedPosition >= endPosition)
        {
            return; // a snapshot brought it
        }
        int lastSequence = SequenceWindow.Follow(baseSequence, count - 1);
        window.Add(new SequencedBatch(baseSequence, lastSequence, firstOffset, endPosition, storedTimeMs, crc));
        producer.LastSeenMs = Math.Max(producer.LastSeenMs, storedTimeMs);
    }
}
