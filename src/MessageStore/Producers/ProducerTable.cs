using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>All producers that may send with sequences. Under the log's lock, or by recovery.</summary>
internal sealed class ProducerTable
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

    /// <summary>The id that the next producer gets; only rises.</summary>
    public long NextId { get; private set; }

    public int Count => _producers.Count;

    public IEnumerable<ProducerState> All => _producers.Values;

    /// <summary>Ids below <paramref name="nextId"/> were given out.</summary>
    public void Reserve(long nextId) => NextId = Math.Max(NextId, nextId);

    public ProducerState? Find(long id)
    {
        if (_last is not null && _last.Id == id)
        {
            return _last;
        }
        return _producers.TryGetValue(id, out ProducerState? producer) ? _last = producer : null;
    }

    /// <summary>A producer has (at least) this epoch now.</summary>
    public ProducerState SetEpoch(ProducerSession session)
    {
        Reserve(session.Id + 1);
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
        {
            CountWindows(-producer.Windows.Count);
        }
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
        bool isFull = Bytes >= MaxBytes;
        if (count == 0 && !isFull)
        {
            yield break;
        }
        long left = isFull ? Bytes - (MaxBytes / 10 * 9) : 0;
        foreach (ProducerState one in _producers.Values.OrderBy(one => one.LastSeenMs))
        {
            if (one == except)
            {
                continue;
            }
            if ((count <= 0 && left <= 0) || most-- <= 0)
            {
                yield break;
            }
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
    /// <param name="original">With DuplicateSequence: the batch as it was stored; FirstOffset -1 when that is no
    /// longer known.</param>
    /// <returns>None, DuplicateSequence, OutOfOrderSequence, ProducerFenced, UnknownProducer, InvalidBatch.</returns>
    public ErrorCode Check(
        ProducerSession session, QueueId queue, int baseSequence, int count, out SequencedBatch original)
    {
        original = default;
        if (baseSequence < 0)
        {
            return ErrorCode.InvalidBatch;
        }
        if (Find(session.Id) is not { } producer || session.Epoch > producer.Epoch)
        {
            return ErrorCode.UnknownProducer;
        }
        if (session.Epoch < producer.Epoch)
        {
            return ErrorCode.ProducerFenced;
        }
        if (producer.Find(queue) is not { } window)
        {
            // At the bound it begins anew: then there is room, or the longest silent makes some.
            return Bytes >= MaxBytes ? ErrorCode.UnknownProducer
                : baseSequence == 0 ? ErrorCode.None
                : ErrorCode.OutOfOrderSequence;
        }
        if (baseSequence == window.NextSequence)
        {
            return ErrorCode.None;
        }
        if (window.TryFind(baseSequence, SequenceWindow.Follow(baseSequence, count - 1), out original))
        {
            return ErrorCode.DuplicateSequence;
        }
        // Where it is stored is not known any more, only that it is no later than the newest.
        original = new SequencedBatch(baseSequence, baseSequence, -1, window.AppliedPosition, 0);
        int lastSequence = SequenceWindow.Follow(baseSequence, count - 1);
        bool isBehind = window.IsBehind(baseSequence) && window.IsBehind(lastSequence);
        return isBehind ? ErrorCode.DuplicateSequence : ErrorCode.OutOfOrderSequence;
    }

    /// <summary>A batch is stored: live after <see cref="Check"/>, or read back from the log, where its producer may
    /// be gone.</summary>
    public void Stored(
        ProducerSession session,
        QueueId queue,
        int baseSequence,
        int count,
        long firstOffset,
        long endPosition,
        long storedTimeMs)
    {
        if (Find(session.Id) is not { } producer || producer.Epoch != session.Epoch)
        {
            return;
        }
        SequenceWindow window = producer.FindOrAdd(queue);
        if (window.AppliedPosition >= endPosition)
        {
            return; // a snapshot brought it
        }
        int lastSequence = SequenceWindow.Follow(baseSequence, count - 1);
        window.Add(new SequencedBatch(baseSequence, lastSequence, firstOffset, endPosition, storedTimeMs));
        producer.LastSeenMs = Math.Max(producer.LastSeenMs, storedTimeMs);
    }
}
