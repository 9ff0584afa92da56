using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>A queue as a producer sees it: it fills its open batch; those that are closed are pending.</summary>
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

    private volatile bool _isWritable = true;

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
    public SendBatch? Open { get; private set; }

    /// <summary>The batch that takes oneway messages.</summary>
    public SendBatch? OpenOneway { get; private set; }

    /// <summary>The batches that are closed and not settled.</summary>
    public PendingBatches Pending { get; } = new();

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

    /// <summary>The queue of a batch.</summary>
    public static QueueLane Of(SendBatch batch) => (QueueLane)batch.Owner;

    /// <inheritdoc/>
    public override string ToString() => $"{Topic.Name}/{Number}";

    void IBatchOwner.ReleaseMemory(long bytes) => Broker.Budget.Release(bytes);

    void IBatchOwner.OnSenderBlocks() => Broker.OnSenderBlocks();

    void IBatchOwner.OnContinuationsRan(int hold) => Broker.OnContinuationsRan(hold);

    /// <summary>Puts a message into the open batch or, if that does not take it, into the next.</summary>
    /// <param name="content">Encoded at once.</param>
    /// <param name="batch">It is in this one, if the outcome is that it is in one.</param>
    public AppendStatus TryAppend(in RecordContent content, out SendBatch? batch)
    {
        batch = Open;
        bool isKeyed = content.Key.HasValue;
        if (batch is not null && !MustPart(batch, isKeyed) && batch.TryAppend(content))
            return AppendStatus.Appended;
        if (!TryClose(isKeyed))
            return AppendStatus.Moved;
        AppendStatus status = TryOpen(content, out batch);
        Use(batch);
        return status;
    }

    /// <summary>Puts a run of messages into the open batch or, if it does not fit, into the next: all of them, or as
    /// many as a batch takes.</summary>
    /// <param name="run">Encoded at once.</param>
    /// <param name="batch">They are in this one, if the outcome is that they are in one.</param>
    /// <param name="taken">Messages that are in it.</param>
    public AppendStatus TryAppend(in MessageRun run, out SendBatch? batch, out int taken)
    {
        batch = Open;
        taken = 0;
        if (batch is not null && !MustPart(batch, run.HasKeys) && batch.Fits(run))
        {
            batch.Append(run);
            taken = run.Count;
            return AppendStatus.Appended;
        }

        if (!TryClose(run.HasKeys))
            return AppendStatus.Moved;
        AppendStatus status = TryOpen(run, out batch, out taken);
        Use(batch);
        return status;
    }

    /// <summary>As <see cref="TryAppend(in RecordContent, out SendBatch)"/>, for a message that is not
    /// acknowledged.</summary>
    public AppendStatus TryAppendOneway(in RecordContent content)
    {
        if (OpenOneway is { } open)
        {
            if (open.TryAppend(content))
                return AppendStatus.Appended;
            Broker.Oneway.CloseFull(this);
            if (!content.Key.HasValue && Topic.Sticky != this)
                return AppendStatus.Moved;
        }

        AppendStatus status = TryOpen(content, out SendBatch? opened);
        OpenOneway = opened;
        if (opened is not null)
            Broker.Oneway.NoteOpened(opened);
        return status;
    }

    /// <summary>Moves the open batch to the pending ones.</summary>
    public void Close(bool wasFull)
    {
        SendBatch batch = Open!;
        Open = null;
        Pending.Add(batch);
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
        Pending.Add(batch);
    }

    /// <summary>Where there are other brokers, messages with keys keep to themselves: they wait for theirs, and the
    /// others must not have to.</summary>
    private bool MustPart(SendBatch batch, bool isKeyed) => Broker.HasOthers && batch.HasKeys != isKeyed;

    /// <summary>Closes the open batch, which takes no more of what comes.</summary>
    /// <param name="isKeyed">Whether that has keys; if not, another queue will do as well.</param>
    /// <returns>False when it is to go to another queue.</returns>
    private bool TryClose(bool isKeyed)
    {
        if (Open is null)
            return true;
        Broker.Dispatch.CloseBatch(this, wasFull: !MustPart(Open, isKeyed));
        return isKeyed || Topic.Sticky == this;
    }

    /// <summary>Opens a batch with its first message.</summary>
    /// <param name="content">Encoded at once.</param>
    /// <param name="batch">The batch; null when there is none.</param>
    private AppendStatus TryOpen(in RecordContent content, out SendBatch? batch)
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
    private AppendStatus TryOpen(in MessageRun run, out SendBatch? batch, out int taken)
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

    private void Use(SendBatch? batch)
    {
        Open = batch;
        if (batch is not null)
            Broker.Dispatch.NoteOpened(batch);
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
}
