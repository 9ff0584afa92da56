using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client.Tests;

/// <content>One fetch session at a time: a batch of each queue per answer, parked when there is none.</content>
internal sealed partial class FakeCoordinator
{
    private readonly Dictionary<FetchQueueKey, byte[][]> _entries = [];
    private readonly Dictionary<FetchQueueKey, long> _next = [];
    private ServerConnection? _fetcher;
    private FrameHeader? _parkedFetch;
    private uint _sessions;
    private uint _session;
    private uint _sequence;

    /// <summary>Whether answers say that senders may wait for what is in them.</summary>
    public bool IsMarked { get; set; }

    private long EndOf(FetchQueueKey queue) =>
        _entries.TryGetValue(queue, out var entries) ? entries.Length * FakeQueue.MessagesPerBatch : 0;

    private void Fetch(ServerConnection connection, FrameHeader header, FetchRequest request)
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
        foreach (var queue in request.Removed)
            _next.Remove(queue);
        foreach (var queue in request.Queues)
            _next[queue.Queue] = queue.Offset.Value;
        Serve(connection, header, request);
    }

    private void Serve(ServerConnection connection, FrameHeader header, FetchRequest request)
    {
        var due = _next.Where(queue => queue.Value < EndOf(queue.Key)).Select(static queue => queue.Key).ToArray();
        if (due.Length == 0 && request.MaxWaitMs > 0)
        {
            _parkedFetch = header;
            return;
        }

        var frame = FrameBuffer.Rent();
        new FetchResponseHeader(_session, request.Sequence, 0, due.Length)
            .Write(frame.Reserve(FetchResponseHeader.Size));
        foreach (var key in due)
        {
            var index = _next[key] / FakeQueue.MessagesPerBatch;
            var entry = _entries[key][index];
            _next[key] = (index + 1) * FakeQueue.MessagesPerBatch;
            new FetchedQueueHeader(
                key.Id,
                key.Log,
                ErrorCode.None,
                default,
                new QueueOffset(EndOf(key)),
                new QueueOffset(_next[key]),
                -1,
                entry.Length).Write(frame.Reserve(FetchedQueueHeader.Size));
            entry.CopyTo(frame.Reserve(entry.Length));
        }

        var flags = FrameFlags.Response | (IsMarked ? FrameFlags.Marked : FrameFlags.None);
        connection.Send(frame, header.Opcode, header.Version, flags, header.CorrelationId, 0);
    }
}
