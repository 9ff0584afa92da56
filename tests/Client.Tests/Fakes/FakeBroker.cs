using System.Net;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Client.Tests;

/// <summary>What the fake does with a produce request.</summary>
internal enum Verdict
{
    /// <summary>Stores and answers.</summary>
    Store,

    /// <summary>Stores and never answers.</summary>
    StoreSilently,

    /// <summary>Stores and closes the connection.</summary>
    StoreAndClose,

    /// <summary>Stores and answers that the store met a fault.</summary>
    StoreAndFault,

    /// <summary>Closes the connection, nothing stored.</summary>
    Close,

    /// <summary>Neither stores nor answers.</summary>
    Ignore,

    /// <summary>Refuses the first batch for now, treats the others as usual.</summary>
    RefuseFirst,

    /// <summary>Waits for <see cref="FakeBroker.Release"/>, then stores and answers.</summary>
    Hold,

    /// <summary>Closes the connection; the request comes again with <see cref="FakeBroker.DeliverLate"/>.</summary>
    CloseLate,

    /// <summary>No answer; the request comes again with <see cref="FakeBroker.DeliverLate"/>.</summary>
    IgnoreLate,
}

/// <summary>A broker in memory that checks sequences as the real one does and misbehaves as it is told.</summary>
/// <remarks>The other parts greet, and know topics whose backlog is bounded.</remarks>
internal sealed partial class FakeBroker : IConnectionHandler, IAsyncDisposable
{
    private readonly Lock _lock = new();
    private readonly RemotingServer _server;
    private readonly Dictionary<long, short> _epochs = [];
    private readonly Dictionary<(long Id, uint Queue), SequenceState> _sequences = [];
    private readonly List<FrameConnection> _connections = [];
    private readonly List<Action> _held = [];
    private bool _isReleased;
    private long _nextProducerId = 7;
    private int _produceCount;

    private FakeBroker(int queueCount, InMemoryEndPoint? inMemory, string listen)
    {
        QueueCount = queueCount;
        _server = new RemotingServer(
            new RemotingServerOptions { InMemory = inMemory, Listen = [listen] },
            this, NullLoggerFactory.Instance, TimeProvider.System);
    }

    public int QueueCount { get; }

    public string Address => ((IPEndPoint)_server.LocalEndPoint).ToString();

    public Guid StoreId { get; set; } = Guid.NewGuid();

    /// <summary>Bodies in the order in which they were stored, by queue id.</summary>
    public Dictionary<uint, List<int>> Stored { get; } = [];

    /// <summary>What to do with the n-th produce request, from 0.</summary>
    public Func<int, Verdict> Script { get; set; } = static _ => Verdict.Store;

    /// <summary>The refusal of <see cref="Verdict.RefuseFirst"/>.</summary>
    public ErrorCode Refusal { get; set; } = ErrorCode.StorageFull;

    /// <summary>Runs before a producer gets an id or an epoch.</summary>
    public Action<InitProducerRequest> BeforeInit { get; set; } = static _ => { };

    /// <summary>What a connection waits for behind each produce request, before it reads on.</summary>
    public Task Reading { get; set; } = Task.CompletedTask;

    public int ProduceCount => Volatile.Read(ref _produceCount);

    public int InitCount { get; private set; }

    public int MostInFlightBatches { get; private set; }

    public short HighestEpoch => _epochs.Values.DefaultIfEmpty((short)-1).Max();

    public static async Task<FakeBroker> StartAsync(
        int queueCount = 1, InMemoryEndPoint? inMemory = null, string listen = "127.0.0.1:0")
    {
        var broker = new FakeBroker(queueCount, inMemory, listen);
        await broker._server.StartAsync(CancellationToken.None);
        return broker;
    }

    /// <summary>Lets held requests go, in order; none is held from now on.</summary>
    public void Release()
    {
        lock (_lock)
        {
            _isReleased = true;
            foreach (Action one in _held)
                one();
            _held.Clear();
        }
    }

    /// <summary>Lets the oldest held request go, if at least so many are held.</summary>
    public bool TryReleaseOldest(int leastHeld)
    {
        lock (_lock)
        {
            if (_held.Count < leastHeld)
                return false;
            _held[0]();
            _held.RemoveAt(0);
            return true;
        }
    }

    public IReadOnlyList<int> All()
    {
        lock (_lock)
            return [.. Stored.OrderBy(static queue => queue.Key).SelectMany(static queue => queue.Value)];
    }

    public void OnConnected(FrameConnection connection)
    {
        lock (_lock)
            _connections.Add(connection);
    }

    public void OnDisconnected(FrameConnection connection, Exception? cause)
    {
        lock (_lock)
            _connections.Remove(connection);
    }

    /// <summary>Closes every connection.</summary>
    public void CloseAll()
    {
        FrameConnection[] connections;
        lock (_lock)
            connections = [.. _connections];
        foreach (FrameConnection connection in connections)
            connection.Close(null);
    }

    public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        switch ((Opcode)header.Opcode)
        {
            case Opcode.Hello:
                Greet(connection, header, payload.Span);
                break;
            case Opcode.Route:
                Assert.True(Payload.TryRead<RouteRequest>(payload.Span, out RouteRequest? route));
                Answer(connection, header, Route(route));
                break;
            case Opcode.InitProducer:
                Assert.True(Payload.TryRead<InitProducerRequest>(payload.Span, out InitProducerRequest? init));
                Answer(connection, header, Init(init));
                break;
            case Opcode.DescribeTopic:
                Assert.True(Payload.TryRead<DescribeTopicRequest>(payload.Span, out DescribeTopicRequest? describe));
                Answer(connection, header, Describe(describe.Topic));
                break;
            case Opcode.Produce:
                Produce(connection, header, payload.ToArray());
                return new ValueTask(Reading);
            case >= Opcode.SetUser and <= Opcode.TestRule:
                Administer(connection, header, payload.Span);
                break;
            default:
                connection.Close(null);
                break;
        }

        return ValueTask.CompletedTask;
    }

    public ValueTask DisposeAsync() => _server.DisposeAsync();

    private static void Answer<T>(FrameConnection connection, FrameHeader header, T answer)
        where T : IPayload<T>
    {
        var frame = FrameBuffer.Rent();
        answer.Write(new PayloadWriter(frame));
        connection.Send(frame, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0);
    }

    private RouteResponse Route(RouteRequest request) => new(
        [new BrokerAddress(StoreId, "", 0)],
        [.. request.Topics.Select(topic => new TopicRoute(
            ErrorCode.None,
            topic,
            new TopicId(StoreId),
            4 << 20,
            [.. Enumerable.Range(0, QueueCount)
                .Select(number => (Number: number, Id: FirstIdOf(topic) + (uint)number))
                .Select(queue => new QueueRoute(
                    queue.Number, 0, StateOf(topic, queue.Id), new QueueId(queue.Id), 1, 0))]))]);

    private InitProducerResponse Init(InitProducerRequest request)
    {
        BeforeInit(request);
        lock (_lock)
        {
            InitCount++;
            long id = request.Known.Id >= 0 ? request.Known.Id : _nextProducerId++;
            _epochs[id] = request.Known.Id >= 0 ? (short)(request.Known.Epoch + 1) : (short)0;
            return new InitProducerResponse(new ProducerSession(id, _epochs[id]));
        }
    }

    private void Produce(FrameConnection connection, FrameHeader header, byte[] payload)
    {
        int number = Interlocked.Increment(ref _produceCount) - 1;
        FakeRequest request = Note(connection, payload);
        Verdict verdict = Judge is { } judge ? judge(request) : Script(number);
        switch (verdict)
        {
            case Verdict.Close:
                connection.Close(null);
                return;
            case Verdict.CloseLate:
                KeepLate(payload);
                connection.Close(null);
                return;
            case Verdict.IgnoreLate:
                KeepLate(payload);
                return;
            case Verdict.Ignore:
                return;
            case Verdict.Hold:
                lock (_lock)
                {
                    _held.Add(() => Reply(connection, header, Store(payload, verdict)));
                    if (_isReleased)
                        Release();
                }

                return;
        }

        List<ProduceResult> results = Store(payload, verdict);
        if (verdict == Verdict.StoreAndClose)
            connection.Close(null);
        else if (verdict == Verdict.StoreAndFault)
            Reply(connection, header, [.. results.Select(_ => Refuse(ErrorCode.StoreFaulted))]);
        else if (verdict != Verdict.StoreSilently && !header.IsOneway)
            Reply(connection, header, results);
    }

    private static void Reply(FrameConnection connection, FrameHeader header, List<ProduceResult> results)
    {
        var frame = FrameBuffer.Rent();
        ProduceResponse.WriteHeader(frame.Reserve(ProduceResponse.HeaderSize), 0, results.Count);
        foreach (ProduceResult result in results)
            result.Write(frame.Reserve(ProduceResult.Size));
        connection.Send(frame, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0);
    }

    private List<ProduceResult> Store(byte[] payload, Verdict verdict)
    {
        lock (_lock)
        {
            Assert.True(ProduceRequestHeader.TryRead(payload, out ProduceRequestHeader head));
            MostInFlightBatches = Math.Max(MostInFlightBatches, head.BatchCount);
            Span<byte> rest = payload.AsSpan(ProduceRequestHeader.Size);
            List<ProduceResult> results = [];
            for (int i = 0; i < head.BatchCount; i++)
            {
                Assert.True(ProduceBatchHeader.TryRead(rest, out ProduceBatchHeader batch));
                Span<byte> bytes = rest.Slice(ProduceBatchHeader.Size, batch.BatchSize);
                rest = rest[(ProduceBatchHeader.Size + batch.BatchSize)..];
                results.Add(i == 0 && verdict == Verdict.RefuseFirst
                    ? new ProduceResult(Refusal, Durability.Policy, 1, new QueueOffset(-1), 0, 0)
                    : StoreBatch(batch.Queue.Value, bytes));
            }

            return results;
        }
    }

    private ProduceResult StoreBatch(uint queue, ReadOnlySpan<byte> bytes)
    {
        Assert.Equal(ErrorCode.None, RecordBatch.Check(bytes, out RecordBatchHeader header));
        List<int> stored = Stored.TryGetValue(queue, out List<int>? list) ? list : Stored[queue] = [];
        ProducerSession producer = header.Producer;
        int offset = stored.Count;
        if (producer.IsIdempotent)
        {
            if (!_epochs.TryGetValue(producer.Id, out short epoch))
                return Refuse(ErrorCode.UnknownProducer);
            if (producer.Epoch != epoch)
                return Refuse(ErrorCode.ProducerFenced);
            (long Id, uint queue) key = (producer.Id, queue);
            if (!_sequences.TryGetValue(key, out SequenceState? state) || state.Epoch != epoch)
                state = new SequenceState(epoch, 0, []);
            int sequence = header.BaseSequence;
            int known = state.Window.FindIndex(one => one.Sequence == sequence);
            if (known >= 0)
            {
                var first = new QueueOffset(state.Window[known].Offset);
                return new ProduceResult(ErrorCode.DuplicateSequence, Durability.Written, 1, first, 1, 0);
            }

            ErrorCode met = Unwritable.ContainsKey(queue)
                ? ErrorCode.QueueNotWritable
                : MeetBatch(Describe(queue, bytes));
            if (met != ErrorCode.None)
                return Refuse(met);
            if (header.BaseSequence != state.Next)
                return Refuse(ErrorCode.OutOfOrderSequence);
            state.Window.Add((header.BaseSequence, offset));
            _sequences[key] = new SequenceState(
                epoch, state.Next + header.RecordsCount, [.. state.Window.TakeLast(16)]);
        }

        var reader = new RecordReader(bytes);
        while (reader.TryRead(out RecordView record))
            stored.Add(record.Body.Length >= 4 ? BitConverter.ToInt32(record.Body) : -1);
        return new ProduceResult(ErrorCode.None, Durability.Written, 1, new QueueOffset(offset), 1, 0);
    }

    private ProduceResult Refuse(ErrorCode error) =>
        new(error, Durability.Policy, 1, new QueueOffset(-1), 0, RetryAfterMs);

    private sealed record SequenceState(short Epoch, int Next, List<(int Sequence, long Offset)> Window);
}
