using System.Net;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Client.Tests;

/// <summary>A broker in memory with one topic of fixed messages, whose group does what the test says.</summary>
/// <remarks>The other part serves fetches.</remarks>
internal sealed partial class FakeCoordinator : IConnectionHandler, IAsyncDisposable
{
    private readonly Lock _lock = new();
    private readonly RemotingServer _server;
    private readonly List<FrameConnection> _connections = [];
    private readonly List<GroupHeartbeatRequest> _beats = [];
    private readonly List<string> _journal = [];
    private readonly Dictionary<QueueKey, long> _committed = [];
    private readonly List<Action> _heldCommits = [];
    private readonly int _queueCount;
    private bool _holdsCommits;
    private (FrameConnection Connection, FrameHeader Header)? _parkedBeat;
    private IReadOnlyList<AssignedTopic> _assignment = [];
    private long _generation;

    private FakeCoordinator(int queueCount, int batches)
    {
        _queueCount = queueCount;
        for (int queue = 0; queue < queueCount; queue++)
        {
            QueueId id = KeyOf(queue).Id;
            _entries[KeyOf(queue)] = [.. Enumerable.Range(0, batches).Select(
                batch => FakeQueue.MakeEntry(id, batch * FakeQueue.MessagesPerBatch, isCompressed: false))];
        }

        _generation = Generation(1);
        _server = new RemotingServer(
            new RemotingServerOptions(), this, NullLoggerFactory.Instance, TimeProvider.System);
    }

    public string Address => ((IPEndPoint)_server.LocalEndPoint).ToString();

    public Guid StoreId { get; set; } = Guid.NewGuid();

    /// <summary>The broker's epoch: the upper half of generations.</summary>
    public int Epoch { get; set; } = 1;

    /// <summary>The number in the topic of its first queue.</summary>
    public int FirstNumber { get; init; }

    /// <summary>The brokers that its routes name.</summary>
    public IReadOnlyList<FakeCoordinator> Brokers { get; set; } = [];

    public uint Pending { get; set; }

    public TimeSpan ReconnectGrace { get; set; } = TimeSpan.FromSeconds(1);

    /// <summary>The session timeout that answers tell.</summary>
    public TimeSpan SessionTimeout { get; set; } = TimeSpan.FromSeconds(30);

    /// <summary>What a heartbeat meets: None, an error, or ConnectionLost to close instead of an answer.</summary>
    public Func<GroupHeartbeatRequest, ErrorCode> MeetBeat { get; set; } = static _ => ErrorCode.None;

    /// <summary>What a whole commit meets.</summary>
    public Func<ErrorCode> MeetCommit { get; set; } = static () => ErrorCode.None;

    /// <summary>Whether commits are answered only when this is false again.</summary>
    public bool HoldsCommits
    {
        set
        {
            lock (_lock)
            {
                _holdsCommits = value;
                foreach (Action answer in _heldCommits)
                    answer();
                _heldCommits.Clear();
            }
        }
    }

    /// <summary>What each queue of a commit meets.</summary>
    public Func<OffsetCommit, ErrorCode> MeetOffset { get; set; } = static _ => ErrorCode.None;

    public int ConnectionCount
    {
        get
        {
            lock (_lock)
                return _connections.Count;
        }
    }

    /// <summary>Every heartbeat so far.</summary>
    public IReadOnlyList<GroupHeartbeatRequest> Beats
    {
        get
        {
            lock (_lock)
                return [.. _beats];
        }
    }

    /// <summary>The queues that the member has, as it said last.</summary>
    public IReadOnlyList<int> Owned
    {
        get
        {
            lock (_lock)
            {
                return [.. (_beats.FindLast(static beat => beat.Owned is not null)?.Owned ?? [])
                    .Select(static one => (int)one.Queue.Id.Value - 1)];
            }
        }
    }

    /// <summary>Whether the last heartbeat names the list that was told last.</summary>
    public bool IsSeen
    {
        get
        {
            lock (_lock)
                return _beats.Count > 0 && _beats[^1].Generation.Value == _generation;
        }
    }

    /// <summary>Whether a heartbeat that names the list told last is being held.</summary>
    public bool IsParked
    {
        get
        {
            lock (_lock)
                return _parkedBeat is not null && _beats[^1].Generation.Value == _generation;
        }
    }

    /// <summary>Whether a fetch waits: everything was given.</summary>
    public bool IsDrained
    {
        get
        {
            lock (_lock)
                return _parkedFetch is not null;
        }
    }

    /// <summary>What came, in order: "join", "own 0@1 1@1", "commit 0@1=5", "leave" or "leave to stay".</summary>
    public IReadOnlyList<string> Journal
    {
        get
        {
            lock (_lock)
                return [.. _journal];
        }
    }

    public static async Task<FakeCoordinator> StartAsync(int queueCount = 2, int batches = 1, int firstNumber = 0)
    {
        var fake = new FakeCoordinator(queueCount, batches) { FirstNumber = firstNumber };
        fake.Brokers = [fake];
        await fake._server.StartAsync(CancellationToken.None);
        return fake;
    }

    public static QueueKey KeyOf(int queue) => new(0, new QueueId((uint)queue + 1));

    /// <summary>Gives a member these queues, each with the grant of the lower half of a generation.</summary>
    public void Tell(params (int Queue, int Grant)[] list)
    {
        lock (_lock)
        {
            SetNext(list);
            AnswerParked();
        }
    }

    /// <summary>The same, told with the answer to the next heartbeat.</summary>
    public void SetNext(params (int Queue, int Grant)[] list)
    {
        lock (_lock)
        {
            _generation = Generation((uint)_generation + 100);
            _assignment = list.Length == 0
                ? []
                : [new AssignedTopic("t", [.. list.Select(one => new AssignedQueue(
                    FirstNumber + one.Queue, KeyOf(one.Queue), new GroupGeneration(Generation(one.Grant))))])];
        }
    }

    /// <summary>Whether the list told last has the queue.</summary>
    public bool IsTold(int queue)
    {
        lock (_lock)
            return _assignment.Any(topic => topic.Queues.Any(one => one.Queue == KeyOf(queue)));
    }

    /// <summary>Answers the parked heartbeat with an error.</summary>
    public void Refuse(ErrorCode error)
    {
        lock (_lock)
        {
            if (_parkedBeat is { } parked)
                Answer(parked.Connection, parked.Header, new ErrorDetail(null, TimeSpan.Zero), error);
            _parkedBeat = null;
        }
    }

    /// <summary>A group's progress, as another member has left it.</summary>
    public void SetCommitted(int queue, long next)
    {
        lock (_lock)
            _committed[KeyOf(queue)] = next;
    }

    /// <summary>Closes every connection.</summary>
    public void CloseAll()
    {
        FrameConnection[] connections;
        lock (_lock)
        {
            connections = [.. _connections];
            _parkedBeat = null;
        }

        foreach (FrameConnection connection in connections)
            connection.Close(null);
    }

    public void OnConnected(FrameConnection connection)
    {
        lock (_lock)
            _connections.Add(connection);
    }

    public void OnDisconnected(FrameConnection connection, Exception? cause)
    {
        lock (_lock)
        {
            _connections.Remove(connection);
            if (_fetcher == connection)
                _session = 0;
        }
    }

    public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        lock (_lock)
            Handle(connection, header, payload.Span);
        return ValueTask.CompletedTask;
    }

    public ValueTask DisposeAsync() => _server.DisposeAsync();

    private static void Answer<T>(
        FrameConnection connection, FrameHeader header, T answer, ErrorCode error = ErrorCode.None)
        where T : IPayload<T>
    {
        var frame = FrameBuffer.Rent();
        answer.Write(new PayloadWriter(frame));
        connection.Send(
            frame, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, (ushort)error);
    }

    private static T Read<T>(ReadOnlySpan<byte> payload)
        where T : IPayload<T>
    {
        Assert.True(Payload.TryRead<T>(payload, out T? request));
        return request;
    }

    private long Generation(long counter) => ((long)Epoch << 32) + (uint)counter;

    private void Handle(FrameConnection connection, FrameHeader header, ReadOnlySpan<byte> payload)
    {
        switch ((Opcode)header.Opcode)
        {
            case Opcode.Hello:
                Answer(connection, header, new HelloResponse
                {
                    Version = HelloRequest.ProtocolVersion,
                    StoreId = StoreId,
                    BrokerId = StoreId,
                    MaxFrameBytes = 16 << 20,
                });
                break;
            case Opcode.Route:
                Answer(connection, header, Route(Read<RouteRequest>(payload)));
                break;
            case Opcode.FindOffsets:
                FindOffsets(connection, header, Read<FindOffsetsRequest>(payload));
                break;
            case Opcode.ReadOffsets:
                Answer(connection, header, new ReadOffsetsResponse(
                    [.. Read<ReadOffsetsRequest>(payload).Queues!.Select(key => new CommittedOffset(
                        key, new QueueOffset(_committed.GetValueOrDefault(key, -1)), -1, null))]));
                break;
            case Opcode.CommitOffsets:
                Commit(connection, header, Read<CommitOffsetsRequest>(payload));
                break;
            case Opcode.GroupHeartbeat:
                Beat(connection, header, Read<GroupHeartbeatRequest>(payload));
                break;
            case Opcode.GroupLeave:
                _journal.Add(Read<GroupLeaveRequest>(payload).Stays ? "leave to stay" : "leave");
                Answer(connection, header, new Done());
                break;
            case Opcode.Fetch:
                Fetch(connection, header, Read<FetchRequest>(payload));
                break;
            default:
                connection.Close(null);
                break;
        }
    }

    private RouteResponse Route(RouteRequest request)
    {
        List<QueueRoute> queues = [];
        for (int broker = 0; broker < Brokers.Count; broker++)
        {
            queues.AddRange(Enumerable.Range(0, Brokers[broker]._queueCount).Select(queue => new QueueRoute(
                Brokers[broker].FirstNumber + queue,
                0,
                QueueState.Readable | QueueState.Writable,
                KeyOf(queue).Id,
                1,
                (ushort)broker)));
        }

        return new RouteResponse(
            [.. Brokers.Select(static broker => new BrokerAddress(
                broker.StoreId, "127.0.0.1", (ushort)((IPEndPoint)broker._server.LocalEndPoint).Port))],
            [.. request.Topics.Select(topic => new TopicRoute(
                ErrorCode.None, topic, new TopicId(StoreId), 4 << 20, queues))]);
    }

    private void Commit(FrameConnection connection, FrameHeader header, CommitOffsetsRequest request)
    {
        _journal.Add("commit " + string.Join(' ', request.Offsets.OrderBy(static one => one.Queue.Id.Value)
            .Select(static one => $"{one.Queue.Id.Value - 1}@{(uint)one.Grant.Value}={one.Next.Value}")));
        ErrorCode error = MeetCommit();
        if (error != ErrorCode.None)
        {
            Answer(connection, header, new ErrorDetail(null, TimeSpan.Zero), error);
            return;
        }

        List<ErrorCode> errors = [];
        foreach (OffsetCommit offset in request.Offsets)
        {
            errors.Add(MeetOffset(offset));
            if (errors[^1] == ErrorCode.None)
                _committed[offset.Queue] = offset.Next.Value;
        }

        if (_holdsCommits)
            _heldCommits.Add(() => Answer(connection, header, new CommitOffsetsResponse(errors)));
        else
            Answer(connection, header, new CommitOffsetsResponse(errors));
    }

    private void Beat(FrameConnection connection, FrameHeader header, GroupHeartbeatRequest request)
    {
        _beats.Add(request);
        if (request.Generation == GroupGeneration.Join)
        {
            _journal.Add("join");
        }
        else if (request.Owned is { } owned)
        {
            _journal.Add(("own " + string.Join(' ', owned.OrderBy(static one => one.Queue.Id.Value).Select(
                static one => $"{one.Queue.Id.Value - 1}@{(uint)one.Grant.Value}"))).TrimEnd());
        }

        AnswerParked();
        ErrorCode met = MeetBeat(request);
        if (met == ErrorCode.ConnectionLost)
            connection.Close(null);
        else if (met != ErrorCode.None)
            Answer(connection, header, new ErrorDetail(null, TimeSpan.Zero), met);
        else if (request.Generation.Value == _generation && request.MaxWait > TimeSpan.Zero)
            _parkedBeat = (connection, header);
        else
            AnswerBeat(connection, header, request.Generation.Value != _generation);
    }

    private void AnswerParked()
    {
        if (_parkedBeat is { } parked)
            AnswerBeat(parked.Connection, parked.Header, isNews: true);
        _parkedBeat = null;
    }

    private void AnswerBeat(FrameConnection connection, FrameHeader header, bool isNews) =>
        Answer(connection, header, new GroupHeartbeatResponse
        {
            Generation = new GroupGeneration(_generation),
            SessionTimeout = SessionTimeout,
            ReconnectGrace = ReconnectGrace,
            Pending = Pending,
            Assignment = isNews ? _assignment : null,
        });
}
