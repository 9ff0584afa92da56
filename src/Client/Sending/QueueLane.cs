using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>A queue as a producer sees it: the open batch, the closed ones in order, the next sequence.</summary>
/// <remarks>Everything but the identity belongs to the gate of <see cref="Broker"/>.</remarks>
internal sealed class QueueLane(TopicLane topic, int number, QueueKey key, BrokerLane broker, int batchBytes)
    : IBatchOwner
{
    /// <summary>Frame bytes that are not the batch: remoting's header and the request's.</summary>
    private const int FrameOverhead = FrameHeader.Size + SendBatch.HeaderRoom;

    /// <summary>The builder's short form writes so many bytes beyond a record.</summary>
    private const int Overhang = 16;

    /// <summary>What batches of several messages keep to before the broker has told its limit.</summary>
    private const int SafeBatchBytes = 1024 * 1024;

    private const int FirstBufferBytes = 16 * 1024;
    private const int LeastBufferBytes = 4096;

    private readonly BatchList _pending = new();
    private long _nextOrdinal;
    private long _gapOrdinal;
    private int _gapSequence;
    private volatile bool _isWritable = true;
    private long _untoldOrdinal = long.MaxValue;

    public TopicLane Topic { get; } = topic;

    /// <inheritdoc/>
    public string TopicName => Topic.Name;

    /// <summary>The queue's number in the topic, unique over the brokers.</summary>
    public int Number { get; } = number;

    public QueueKey Key { get; } = key;

    public BrokerLane Broker { get; } = broker;

    /// <summary>Whether it takes messages, as far as the route and the broker's answers have told. Read by any
    /// thread.</summary>
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
    public SendBatch? First => _pending.First;

    /// <summary>Whether a closed batch must leave before the open one can, and has yet to.</summary>
    public bool HasUnsent => _pending.Last is { State: BatchState.Waiting };

    /// <summary>Sequence of the next message in the present session.</summary>
    public int NextSequence { get; set; }

    /// <summary>Not before this time, in the time provider's units; 0 = at once.</summary>
    public long RetryAt { get; set; }

    /// <summary>Whether a batch with a sequence was given up and those behind it must be numbered again.</summary>
    public bool HasGap { get; private set; }

    /// <summary>Whether the queue waits for its turn in the broker's ready list.</summary>
    public bool IsListed { get; set; }

    /// <summary>
    /// The size of the next batch's buffer: follows what batches really held, so that a thousand queues stay cheap.
    /// </summary>
    private int BufferBytes { get; set; } = Math.Min(FirstBufferBytes, batchBytes);

    private int MaxRecords => Bound?.MaxRecords ?? SendBatch.MaxRecords;

    /// <summary>The most bytes of a batch of several messages.</summary>
    private int MostBytes => Math.Min(
        Bound?.MaxBytes ?? int.MaxValue,
        Broker.Session.MaxBatchBytes is > 0 and var told ? told : SafeBatchBytes);

    /// <summary>Bytes of the batches in flight.</summary>
    public long SentBytes
    {
        get
        {
            long bytes = 0;
            for (SendBatch? batch = First; batch is not null; batch = batch.Next)
                bytes += batch.State == BatchState.Sent ? batch.Size : 0;
            return bytes;
        }
    }

    /// <summary>The queue of a batch.</summary>
    public static QueueLane Of(SendBatch batch) => (QueueLane)batch.Owner;

    /// <inheritdoc/>
    public override string ToString() => $"{Topic.Name}/{Number}";

    void IBatchOwner.ReleaseMemory(long bytes) => Broker.Budget.Release(bytes);

    void IBatchOwner.OnSenderBlocks() => Broker.OnSenderBlocks();

    void IBatchOwner.OnContinuationsRan(int hold) => Broker.OnContinuationsRan(hold);

    /// <summary>Opens a batch with its first message.</summary>
    /// <param name="content">Encoded at once.</param>
    /// <param name="batch">The batch; null when there is none.</param>
    public AppendStatus TryOpen(in RecordContent content, out SendBatch? batch)
    {
        bool isTraced = ClientTrace.IsListenedTo;
        long size = RecordBatchBuilder.SizeOf(content, 0, 0);
        if (isTraced && TraceStamp.Sampled is { } activity)
            size += TraceStamp.MostBytes(activity);
        AppendStatus status = TryOpen(size, isTraced, out batch);
        if (status == AppendStatus.Appended && !batch!.TryAppend(content))
            throw new InvalidOperationException($"A message of {size} bytes does not fit into a batch made for it.");
        return status;
    }

    /// <summary>Opens a batch with a run of messages, or as many of them as a batch takes.</summary>
    /// <param name="run">Encoded at once.</param>
    /// <param name="batch">The batch; null when there is none.</param>
    /// <param name="taken">Messages that are in it.</param>
    public AppendStatus TryOpen(in MessageRun run, out SendBatch? batch, out int taken)
    {
        bool isTraced = ClientTrace.IsListenedTo;
        MessageRun part = run.First(Math.Min(run.Count, MaxRecords));
        long most = Math.Min(batchBytes - FrameOverhead, MostBytes) - RecordBatchLayout.HeaderSize - Overhang;
        taken = part.CountWithin(0, most, isTraced, out long size);

        // One that is larger than a batch travels alone.
        if (taken == 0)
        {
            taken = 1;
            run.First(1).CountWithin(0, long.MaxValue, isTraced, out size);
        }

        AppendStatus status = TryOpen(size, isTraced, out batch);
        if (status == AppendStatus.Appended)
            batch!.Append(run.First(taken));
        else
            taken = 0;
        return status;
    }

    private AppendStatus TryOpen(long records, bool isTraced, out SendBatch? batch)
    {
        batch = null;
        long size = RecordBatchLayout.HeaderSize + records;

        // With room for the overhang any message fits its own batch.
        long alone = size + FrameOverhead + Overhang;
        int maxBatchBytes = Broker.Session.MaxBatchBytes;
        if ((maxBatchBytes > 0 && size > maxBatchBytes) || alone > Array.MaxLength)
            return AppendStatus.TooLarge;
        int bytes = (int)Math.Max(alone, Math.Min(BufferBytes, FrameOverhead + MostBytes));
        if (!Broker.Budget.TryReserve(bytes))
            return AppendStatus.NoRoom;
        batch = Broker.Terms.Batches.Rent();
        batch.Open(
            this,
            FrameBuffer.Rent(bytes - FrameHeader.Size),
            maxBatchBytes > 0 ? Math.Min(bytes - FrameOverhead, maxBatchBytes) : bytes - FrameOverhead,
            MaxRecords,
            Broker.Terms.Time,
            bytes,
            isTraced);
        return AppendStatus.Appended;
    }

    /// <summary>Moves the open batch to the pending ones.</summary>
    public void Close(bool wasFull)
    {
        SendBatch batch = Open!;
        Open = null;
        Add(batch);
        OnClosed(batch, wasFull);
    }

    /// <summary>Takes the open oneway batch.</summary>
    public SendBatch CloseOneway(bool wasFull)
    {
        SendBatch batch = OpenOneway!;
        OpenOneway = null;
        OnClosed(batch, wasFull);
        return batch;
    }

    /// <summary>Appends a batch of another queue to the pending ones.</summary>
    public void TakeOver(SendBatch batch)
    {
        batch.MoveTo(this);
        Add(batch);
    }

    /// <summary>Appends a closed batch to the pending ones.</summary>
    public void Add(SendBatch batch)
    {
        batch.State = BatchState.Waiting;
        _pending.Add(batch);
    }

    /// <summary>Takes a settled batch out.</summary>
    public void Remove(SendBatch batch) => _pending.Remove(batch);

    /// <summary>Adds a task for each batch that is closed and not settled.</summary>
    public void Gather(List<Task> pending) => _pending.Gather(pending);

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

    /// <summary>A batch leaves; at its first sending it gets its place in the session.</summary>
    public void MarkSent(SendBatch batch, ProducerSession session)
    {
        batch.WasHead = First == batch;
        batch.State = BatchState.Sent;
        batch.Attempts++;
        if (batch.Sequence >= 0)
            return;
        batch.Session = session;
        batch.Sequence = NextSequence;
        batch.Ordinal = _nextOrdinal++;
        NextSequence = (int)(((long)NextSequence + batch.RecordCount) & int.MaxValue);
    }

    /// <summary>A new session: whatever is pending is numbered anew from 0.</summary>
    /// <param name="untold">Gets the batches that must not be: they may be stored, and that cannot be known.</param>
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

    /// <summary>Learns how large the next batch should be, and has the topic go on with another queue.</summary>
    private void OnClosed(SendBatch batch, bool wasFull)
    {
        if (wasFull && Bound is null)
            BufferBytes = Math.Min(BufferBytes * 2, batchBytes);
        else if (batch.Size < BufferBytes / 8)
            BufferBytes = Math.Max(BufferBytes / 2, Math.Min(LeastBufferBytes, batchBytes));
        Topic.OnBatchClosed(this, batch.Size);
    }

    /// <summary>
    /// Whether one more batch leaves the oldest unsettled one recognisable, should it have to be sent again.
    /// </summary>
    private bool IsWithin(int window) => First!.Sequence < 0 || _nextOrdinal - First.Ordinal < window;
}
