using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A queue as a producer sees it: the open batch, the closed ones in order, the next sequence.</summary>
/// <remarks>Everything but the identity belongs to the gate of <see cref="Broker"/>.</remarks>
internal sealed class QueueLane(TopicLane topic, int number, QueueKey key, BrokerLane broker, int bufferBytes)
{
    private SendBatch? _last;
    private long _nextOrdinal;
    private long _gapOrdinal;
    private int _gapSequence;
    private volatile bool _isWritable = true;
    private long _untoldOrdinal = long.MaxValue;

    public TopicLane Topic { get; } = topic;

    /// <summary>The queue's number in the topic, unique over the brokers.</summary>
    public int Number { get; } = number;

    public QueueKey Key { get; } = key;

    public BrokerLane Broker { get; } = broker;

    /// <summary>Whether it takes messages, as far as the route and the broker's answers have told. Read by
    /// anybody.</summary>
    public bool IsWritable
    {
        get => _isWritable;
        set => _isWritable = value;
    }

    /// <summary>Whether messages without a key may come here now.</summary>
    public bool TakesMessages => _isWritable && !Broker.IsAway;

    /// <summary>What its batches keep to because the topic bounds its backlog; null when it does not.</summary>
    public SendBound? Bound { get; set; }

    /// <summary>The batch that takes messages.</summary>
    public SendBatch? Open { get; set; }

    /// <summary>The batch that takes oneway messages.</summary>
    public SendBatch? OpenOneway { get; set; }

    /// <summary>The oldest batch that is closed and not settled.</summary>
    public SendBatch? First { get; private set; }

    /// <summary>Whether a closed batch must leave before the open one can, and has yet to.</summary>
    public bool HasUnsent => _last is { State: BatchState.Waiting };

    /// <summary>Sequence of the next message in the present session.</summary>
    public int NextSequence { get; set; }

    /// <summary>Not before this time, in the time provider's units; 0 = at once.</summary>
    public long RetryAt { get; set; }

    /// <summary>Whether a batch with a sequence was given up and those behind it must be numbered again.</summary>
    public bool HasGap { get; private set; }

    /// <summary>Whether the queue waits for its turn in the broker's ready list.</summary>
    public bool IsListed { get; set; }

    /// <summary>Which one of the broker's open batches the last one was.</summary>
    public long OpenNumber { get; set; }

    /// <summary>
    /// The size of the next batch's buffer: follows what batches really held, so that a thousand queues stay cheap.
    /// </summary>
    public int BufferBytes { get; set; } = bufferBytes;

    /// <inheritdoc/>
    public override string ToString() => $"{Topic.Name}/{Number}";

    /// <summary>Appends a closed batch to the pending ones.</summary>
    public void Add(SendBatch batch)
    {
        batch.State = BatchState.Waiting;
        batch.Previous = _last;
        if (_last is null)
            First = batch;
        else
            _last.Next = batch;
        _last = batch;
    }

    /// <summary>Takes a settled batch out.</summary>
    public void Remove(SendBatch batch)
    {
        if (batch.Previous is null)
            First = batch.Next;
        else
            batch.Previous.Next = batch.Next;
        if (batch.Next is null)
            _last = batch.Previous;
        else
            batch.Next.Previous = batch.Previous;
        batch.Previous = batch.Next = null;
    }

    /// <summary>The batch to send next: the oldest that is not in flight, if it may leave now.</summary>
    /// <param name="now">In the time provider's units.</param>
    /// <param name="window">How many batches back the broker recognises one that it has stored.</param>
    /// <param name="onlyUnknown">Whether only batches may leave whose fate is to be found out.</param>
    public SendBatch? FindNext(long now, int window, bool onlyUnknown)
    {
        if (RetryAt > now)
            return null;
        for (SendBatch? batch = First; batch is not null; batch = batch.Next)
        {
            if (batch.State == BatchState.Unknown)
                return batch;
            if (batch.State == BatchState.Waiting && !onlyUnknown)
                return HasGap ? null : batch.Sequence >= 0 || IsWithin(window) ? batch : null;
        }

        return null;
    }

    /// <summary>Gives a batch its place in the session at its first sending.</summary>
    public void AssignSequence(SendBatch batch, ProducerSession session)
    {
        if (batch.Sequence >= 0)
            return;
        batch.Session = session;
        batch.Sequence = NextSequence;
        batch.Ordinal = _nextOrdinal++;
        NextSequence = (int)(((long)NextSequence + batch.RecordCount) & int.MaxValue);
    }

    /// <summary>A new session: whatever is pending is numbered anew from 0.</summary>
    /// <param name="untold">Gets the batches that must not be: they may be stored, and nobody can tell.</param>
    public void Renumber(List<SendBatch> untold)
    {
        NextSequence = 0;
        HasGap = false;
        for (SendBatch? batch = First; batch is not null; batch = batch.Next)
        {
            if (batch.Sequence >= 0 && batch.HadLoss && batch.Ordinal > _untoldOrdinal)
                untold.Add(batch);
            batch.Sequence = -1;
            batch.HadLoss = false;
        }

        _untoldOrdinal = long.MaxValue;
    }

    /// <summary>
    /// A batch was given up while a copy of it may still reach the broker. Until the epoch rises, that would let in
    /// the copies behind it as well, after the broker has said that it misses something before them.
    /// </summary>
    public void NoteUntold(SendBatch batch) => _untoldOrdinal = Math.Min(_untoldOrdinal, batch.Ordinal);

    /// <summary>A batch that has its sequence will never be stored, and every attempt of it was answered.</summary>
    public void NoteGap(SendBatch batch)
    {
        if (HasGap && _gapOrdinal <= batch.Ordinal)
            return;
        HasGap = true;
        _gapOrdinal = batch.Ordinal;
        _gapSequence = batch.Sequence;
    }

    /// <summary>Numbers the batches behind a gap again, once none of them is in flight.</summary>
    /// <returns>False if the gap cannot be closed so: an answer was lost, and an older copy may still come.</returns>
    public bool TryCloseGap()
    {
        if (!HasGap)
            return true;
        for (SendBatch? batch = First; batch is not null; batch = batch.Next)
        {
            if (batch.Sequence < 0 || batch.Ordinal < _gapOrdinal)
                continue;
            if (batch.State == BatchState.Unknown || batch.HadLoss)
                return false;
            if (batch.State == BatchState.Sent)
                return true;
        }

        HasGap = false;
        NextSequence = _gapSequence;
        for (SendBatch? batch = First; batch is not null; batch = batch.Next)
        {
            if (batch.Ordinal > _gapOrdinal)
                batch.Sequence = -1;
        }

        return true;
    }

    /// <summary>Learns from a batch that was closed how large the next one should be.</summary>
    public void Learn(SendBatch batch, bool wasFull, int maxBytes)
    {
        if (wasFull)
            BufferBytes = Math.Min(BufferBytes * 2, maxBytes);
        else if (batch.Size < BufferBytes / 8)
            BufferBytes = Math.Max(BufferBytes / 2, Math.Min(4096, maxBytes));
    }

    /// <summary>
    /// Whether one more batch leaves the oldest unsettled one recognisable, should it have to be sent again.
    /// </summary>
    private bool IsWithin(int window) => First!.Sequence < 0 || _nextOrdinal - First.Ordinal < window;
}
