using System.Diagnostics;
using System.Runtime.CompilerServices;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>What is known about a batch that is not settled.</summary>
internal enum BatchState
{
    /// <summary>Takes messages.</summary>
    Open,

    /// <summary>Closed; never sent, or known not to be stored.</summary>
    Waiting,

    /// <summary>In a request that is not answered yet.</summary>
    Sent,

    /// <summary>Was sent and no answer came: stored or not. Must go again under the same sequence.</summary>
    Unknown,
}

/// <summary>
/// Messages of one queue: encoded once into the frame in which they leave, and the awaitable of each of them.
/// </summary>
/// <remarks>
/// <para>Built and moved under the gate of the lane that sends it; awaited on any thread, see
/// SendBatch.Completion.cs.</para>
/// <para>The frame's payload: <see cref="ProduceRequestHeader"/>, <see cref="ProduceBatchHeader"/>, batch. So a request
/// of one batch leaves without a copy, and again without one when it must be repeated.</para>
/// </remarks>
internal sealed partial class SendBatch
{
    /// <summary>Messages of a batch.</summary>
    public const int MaxRecords = 8192;

    /// <summary>Payload bytes before the batch.</summary>
    public const int HeaderRoom = ProduceRequestHeader.Size + ProduceBatchHeader.Size;

    private readonly RecordBatchBuilder _builder = new();
    private long _timestampMs;
    private int _maxSize;
    private int _maxRecords;

    /// <summary>Records that are taken without a look at the trace: none while spans are listened to.</summary>
    private int _maxPlainRecords;
    private bool _isEncoded;
    private int _encodedSize;
    private ProducerSession _encodedSession;
    private int _encodedSequence;

    /// <summary>What listeners are told of it.</summary>
    public BatchTrace Trace { get; } = new();

    /// <summary>The queue it goes to.</summary>
    public IBatchOwner Owner { get; private set; } = null!;

    /// <summary>The batch before it in its <see cref="BatchList"/>.</summary>
    public SendBatch? Previous { get; set; }

    /// <summary>The batch behind it in its <see cref="BatchList"/>.</summary>
    public SendBatch? Next { get; set; }

    /// <summary>While it is open: as <see cref="LeavingRule.NoteOpened"/> gave it.</summary>
    public long Turn { get; set; }

    public BatchState State { get; set; }

    /// <summary>Sequence of the first message in the session; -1 until it is first sent.</summary>
    public int Sequence { get; set; }

    /// <summary>Counts the queue's batches in the order of their first sending.</summary>
    public long Ordinal { get; set; }

    /// <summary>Who sends it.</summary>
    public ProducerSession Session { get; set; }

    /// <summary>When the batch was opened, in the time provider's units.</summary>
    public long CreatedAt { get; private set; }

    /// <summary>Bytes taken from the budget.</summary>
    public long ReservedBytes { get; private set; }

    /// <summary>Times sent.</summary>
    public int Attempts { get; set; }

    /// <summary>Whether nothing unsettled was before it in its queue when it was last sent.</summary>
    public bool WasHead { get; set; }

    /// <summary>Whether an attempt was not answered and nothing has told since what became of it.</summary>
    public bool MayBeStored { get; set; }

    /// <summary>Whether any attempt of the session was not answered: a copy of it may still reach the broker.</summary>
    public bool HadLoss { get; set; }

    /// <summary>Whether a message of it has a key, which binds it to its queue.</summary>
    public bool HasKeys { get; private set; }

    /// <summary>Which hold of its broker lane ends when its continuations have run; -1 = none.</summary>
    public int Hold { get; set; } = -1;

    /// <summary>What the last attempt met.</summary>
    public EQueueException? LastError { get; set; }

    /// <summary>The frame it leaves in, while it is not settled.</summary>
    public FrameBuffer? Frame { get; private set; }

    public int RecordCount => _builder.RecordCount;

    private bool IsTraced => _maxPlainRecords == 0;

    /// <summary>Bytes of the batch: as it leaves, once it is encoded.</summary>
    public int Size => _isEncoded ? _encodedSize : _builder.Size;

    /// <summary>Starts taking messages.</summary>
    /// <param name="owner">Where it goes.</param>
    /// <param name="frame">An empty frame, owned by the batch from here on.</param>
    /// <param name="maxSize">The most bytes of the batch.</param>
    /// <param name="maxRecords">The most messages of the batch.</param>
    /// <param name="time">Tells the create time of all its messages, and when its delivery timeout starts.</param>
    /// <param name="reservedBytes">What it holds of the budget.</param>
    /// <param name="isTraced">Whether its messages get the context of their sender's activity.</param>
    public void Open(
        IBatchOwner owner,
        FrameBuffer frame,
        int maxSize,
        int maxRecords,
        TimeProvider time,
        long reservedBytes,
        bool isTraced)
    {
        _maxRecords = maxRecords;
        _maxPlainRecords = isTraced ? 0 : _maxRecords;
        Trace.Clear();
        frame.Reserve(HeaderRoom);
        Memory<byte> room = frame.GetMemory(RecordBatchLayout.HeaderSize);
        _maxSize = Math.Min(room.Length, maxSize);
        _timestampMs = time.GetUtcNow().ToUnixTimeMilliseconds();
        _builder.Reset(room[.._maxSize], _timestampMs);
        _isEncoded = false;
        Owner = owner;
        Frame = frame;
        CreatedAt = time.GetTimestamp();
        ReservedBytes = reservedBytes;
        State = BatchState.Open;
        Sequence = -1;
        Session = ProducerSession.None;
        Attempts = 0;
        MayBeStored = false;
        HadLoss = false;
        HasKeys = false;
        LastError = null;
        Previous = Next = null;
        ResetCompletion();
    }

    /// <summary>Goes to another queue as if it had never been sent: known not to be stored, and in no queue.</summary>
    public void MoveTo(IBatchOwner owner)
    {
        Owner = owner;
        Sequence = -1;
        Session = ProducerSession.None;
        Attempts = 0;
    }

    /// <summary>Encodes a message; false, with nothing changed, when it does not fit any more.</summary>
    public bool TryAppend(in RecordContent content)
    {
        if (_builder.RecordCount >= _maxPlainRecords)
            return TryAppendTraced(content);
        return TryAppendPlain(content);
    }

    /// <summary>Whether all messages of a run fit.</summary>
    public bool Fits(in MessageRun run)
    {
        int room = _maxSize - _builder.Size;
        if (run.Count > _maxRecords - RecordCount)
            return false;
        return (run.MostBytes <= room && !IsTraced)
            || run.CountWithin(RecordCount, room, IsTraced, out _) == run.Count;
    }

    /// <summary>Encodes a run that fits.</summary>
    public void Append(in MessageRun run)
    {
        foreach (ref readonly Message message in run.Messages)
        {
            bool isIn = message.IsPlain() && !IsTraced
                ? _builder.TryAppend(message.Body.GetValueOrDefault().Span, _timestampMs)
                : TryAppendEncoded(message);
            if (!isIn)
                throw new InvalidOperationException($"A run of {run.Count} messages does not fit where it was to.");
        }
    }

    private bool TryAppendEncoded(in Message message)
    {
        Span<byte> room = stackalloc byte[MessageEncoder.TextBytes];
        return TryAppend(MessageEncoder.Encode(message, room));
    }

    /// <summary>The batch is full, or its messages are traced.</summary>
    private bool TryAppendTraced(in RecordContent content)
    {
        if (_builder.RecordCount >= _maxRecords)
            return false;
        if (MessageTrace.TryRead(content.Properties, out ActivityContext context))
        {
            if (!TryAppendPlain(content))
                return false;
            if (context != default)
                Trace.Add(context);
            return true;
        }

        if (TraceStamp.Sampled is not { } activity)
            return TryAppendPlain(content);
        if (!TryAppendPlain(new RecordContent
        {
            Key = content.Key,
            Body = content.Body,
            Tag = content.Tag,
            Properties = TraceStamp.Stamp(content.Properties, activity),
        }))
        {
            return false;
        }

        Trace.Add(activity.Context);
        return true;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool TryAppendPlain(in RecordContent content)
    {
        if (content.Properties is null && !content.Key.HasValue && !content.Tag.HasValue && content.Body.HasValue)
            return _builder.TryAppend(content.Body.Value, _timestampMs);
        if (!_builder.TryAppend(content, _timestampMs))
            return false;
        HasKeys |= content.Key.HasValue;
        return true;
    }

    /// <summary>Writes header and CRC for its present session and sequence, if they are not there already.</summary>
    /// <param name="packer">Compresses it, the first time; null: nothing does.</param>
    public void Encode(BatchPacker? packer)
    {
        if (!_isEncoded)
        {
            int size = _builder.Complete(Session, Sequence);
            if (packer is not null)
                size = packer.Pack(Frame!.GetSpan(size)[..size]);
            Frame!.Advance(size);
            _encodedSize = size;
            _isEncoded = true;
        }
        else if (_encodedSession != Session || _encodedSequence != Sequence)
        {
            RecordBatch.SetProducer(Frame!.Slice(HeaderRoom, Size), Session, Sequence);
        }

        _encodedSession = Session;
        _encodedSequence = Sequence;
    }

    /// <summary>Writes what stands before the batch in a request.</summary>
    public void WriteBatchHeader(Span<byte> destination) =>
        new ProduceBatchHeader(Owner.Key.Id, Owner.Key.Log, -1, _builder.TagBits, Size).Write(destination);

    /// <summary>The encoded batch.</summary>
    public ReadOnlySpan<byte> Bytes => Frame!.Slice(HeaderRoom, Size);

    /// <summary>
    /// The whole request for this batch alone; the caller hands it to remoting, the batch keeps it as well.
    /// </summary>
    public FrameBuffer ToRequest(in ProduceRequestHeader header)
    {
        FrameBuffer frame = Frame!;
        header.Write(frame.Slice(0, ProduceRequestHeader.Size));
        WriteBatchHeader(frame.Slice(ProduceRequestHeader.Size, ProduceBatchHeader.Size));
        frame.Retain();
        return frame;
    }
}
