using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client.Tests;

/// <content>One fetch session at a time: a batch of each queue per answer, parked when there is none.</content>
internal sealed partial class FakeCoordinator
{
    private readonly Dictionary<QueueKey, byte[][]> _entries = [];
    private readonly Dictionary<QueueKey, long> _next = [];
    private FrameConnection? _fetcher;
    private FrameHeader? _parkedFetch;
    private uint _sessions;
    private uint _session;
    private uint _sequence;
    private int _findCount;

    /// <summary>Whether answers say that senders may wait for what is in them.</summary>
    public bool IsMarked { get; set; }

    /// <summary>What a queue is answered for instead of its entries; it falls out of the session with that.</summary>
    public Func<int, ErrorCode> QueueError { get; set; } = static _ => ErrorCode.None;

    /// <summary>Whether no client is told where offsets are.</summary>
    public bool IsSilentAboutOffsets { get; set; }

    /// <summary>How often offsets were asked for.</summary>
    public int FindCount => Volatile.Read(ref _findCount);

    private long EndOf(QueueKey queue) =>
        _entries.TryGetValue(queue, out byte[][]? entries) ? entries.Length * FakeQueue.MessagesPerBatch : 0;

    private void FindOffsets(FrameConnection connection, FrameHeader header, FindOffsetsRequest request)
    {
        Interlocked.Increment(ref _findCount);
        if (IsSilentAboutOffsets)
            return;
        Answer(connection, header, new FindOffsetsResponse([.. request.Questions.Select(question => new OffsetAnswer(
            ErrorCode.None, new QueueOffset(question.TimeMs == OffsetQuestion.End ? EndOf(question.Queue) : 0)))]));
    }

    private void Fetch(FrameConnection connection, FrameHeader header, FetchRequest request)
    {
        if (request.SessionId != 0 && (request.SessionId != _session || request.Sequence != _sequence))
        {
            var unknown = new ErrorDetail(null, TimeSpan.Zero);
            if (_parkedFetch is { } parked)
                Answer(connection, parked, unknown, ErrorCode.UnknownFetchSession);
            _parkedFetch = null;
            _session = 0;
            Answer(connection, header, unknown, ErrorCode.UnknownFetchSession);
            return;
        }

        if (request.SessionId == 0)
        {
            _session = ++_sessions;
            _fetcher = connection;
            _parkedFetch = null;
            _next.Clear();
        }

        _sequence = request.Sequence + 1;
        foreach (QueueKey queue in request.Removed)
            _next.Remove(queue);
        foreach (FetchQueue queue in request.Queues)
            _next[queue.Queue] = queue.Offset.Value;
        Serve(connection, header, request);
    }

    private void Serve(FrameConnection connection, FrameHeader header, FetchRequest request)
    {
        QueueKey[] due =
            _next.Where(queue => queue.Value < EndOf(queue.Key)).Select(static queue => queue.Key).ToArray();
        if (due.Length == 0 && request.MaxWaitMs > 0)
        {
            _parkedFetch = header;
            return;
        }

        var frame = FrameBuffer.Rent();
        new FetchResponseHeader(_session, request.Sequence, 0, due.Length)
            .Write(frame.Reserve(FetchResponseHeader.Size));
        foreach (QueueKey key in due)
            WriteQueue(frame, key, QueueError((int)key.Id.Value - 1));

        FrameFlags flags = FrameFlags.Response | (IsMarked ? FrameFlags.Marked : FrameFlags.None);
        connection.Send(frame, header.Opcode, header.Version, flags, header.CorrelationId, 0);
    }

    private void WriteQueue(FrameBuffer frame, QueueKey key, ErrorCode error)
    {
        long index = _next[key] / FakeQueue.MessagesPerBatch;
        byte[] entry = error == ErrorCode.None ? _entries[key][index] : [];
        _next[key] = (index + 1) * FakeQueue.MessagesPerBatch;
        new FetchedQueueHeader(
            key.Id, key.Log, error, default, new QueueOffset(EndOf(key)), new QueueOffset(_next[key]), -1, entry.Length)
            .Write(frame.Reserve(FetchedQueueHeader.Size));
        entry.CopyTo(frame.Reserve(entry.Length));
        if (error != ErrorCode.None)
            _next.Remove(key);
    }
}
