using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Server.Engine;

/// <summary>
/// Does once what a node does when it comes to lead, on a log in memory that no client reaches: opens it, begins
/// epochs, answers a producer and a reader. What that calls is compiled then and not while clients wait for a leader,
/// which takes more than a second on a small machine. </summary>
internal sealed class EngineWarmUp : IAsyncDisposable
{
    private const string Topic = "warm-up";
    private const int Epochs = 2;
    private const long DiskBytes = 64 << 20;

    private static readonly TimeSpan Bound = TimeSpan.FromSeconds(10);

    private readonly InMemoryEndPoint _endPoint;
    private readonly RemotingClient _client;
    private readonly Lock _committing = new();
    private QueueStore? _store;

    private EngineWarmUp(InMemoryEndPoint endPoint)
    {
        _endPoint = endPoint;
        _client = new RemotingClient(
            endPoint, new RemotingClientOptions { RequestTimeout = Bound }, NullLoggerFactory.Instance);
    }

    public static async Task RunAsync(CancellationToken cancellationToken)
    {
        await using var warmUp = new EngineWarmUp(new InMemoryEndPoint());
        await warmUp.RunEpochsAsync(cancellationToken);
    }

    public ValueTask DisposeAsync() => _client.DisposeAsync();

    private async Task RunEpochsAsync(CancellationToken cancellationToken)
    {
        var options = new BrokerOptions
        {
            DataDirectory = "/warm-up",
            Listen = "",
            InMemory = _endPoint,
            Limits = new LimitOptions { MaxMessageBytes = 64 << 10 },
            Store = new StoreOptions
            {
                DataDirectory = "/warm-up",
                Disk = new MemoryDisk(DiskBytes),
                SegmentSizeBytes = 1 << 20,
                MaxBatchBytes = 128 << 10,
                TailMemoryBytes = 4 << 20,
            },
        };
        LogPosition committed = default;
        for (int epoch = 1; epoch <= Epochs; epoch++)
        {
            await using BrokerOpening opening = await BrokerOpening.OpenAsync(
                options, new Lead(epoch, committed, committed), NullLoggerFactory.Instance, cancellationToken);
            QueueStore store = opening.Store;
            store.Progressed = () => ThreadPool.QueueUserWorkItem(_ => Commit(store));
            lock (_committing)
                _store = store;
            _ = store.StartLeading();
            Commit(store);
            await using EQueueBroker broker = await opening.StartAsync(listener: null, cancellationToken);
            try
            {
                await AskAsync(epoch, cancellationToken);
            }
            finally
            {
                // As a leader ends whose epoch is over: nothing waits to be committed any more.
                lock (_committing)
                    _store = null;
                committed = store.Watermarks.Durable;
                store.StopLeading();
            }
        }
    }

    /// <summary>One thread at a time tells the store, as the rules do, and none tells one that is being
    /// closed.</summary>
    private void Commit(QueueStore store)
    {
        lock (_committing)
        {
            if (_store != store)
                return;
            LogWatermarks marks = store.Watermarks;
            store.SetCommitted(marks.Written, marks.Durable);
        }
    }

    /// <summary>As a client does: it says who it is, finds the topic, takes an id and sends.</summary>
    private async Task AskAsync(int epoch, CancellationToken cancellationToken)
    {
        var hello = new HelloRequest
        {
            Features = HelloFeatures.Cluster,
            ClientName = Topic,
            ClientInstanceId = Guid.NewGuid(),
            MaxFrameBytes = 1 << 20,
        };
        await CallAsync<HelloRequest, HelloResponse>(hello, cancellationToken);
        if (epoch == 1)
        {
            await CallAsync<CreateTopicRequest, TopicDescription>(
                new CreateTopicRequest(Topic, TopicSettings.None with { QueueCount = 1 }), cancellationToken);
        }

        RouteResponse route = await CallAsync<RouteRequest, RouteResponse>(
            new RouteRequest([Topic], AutoCreate: false), cancellationToken);
        InitProducerResponse producer = await CallAsync<InitProducerRequest, InitProducerResponse>(
            new InitProducerRequest(null, ProducerSession.None), cancellationToken);
        await SendAsync(route.Topics[0].Queues[0], producer.Session, cancellationToken);
    }

    private async Task SendAsync(QueueRoute queue, ProducerSession session, CancellationToken cancellationToken)
    {
        byte[] buffer = new byte[1 << 10];
        var batch = new RecordBatchBuilder();
        batch.Reset(buffer, 0);
        batch.TryAppend("warm"u8, 0);
        int size = batch.Complete(session, baseSequence: 0);
        var frame = FrameBuffer.Rent();
        new ProduceRequestHeader(Durability.Policy, DeadlineMs: 0, TransactionId: 0, BatchCount: 1)
            .Write(frame.Reserve(ProduceRequestHeader.Size));
        new ProduceBatchHeader(queue.Id, queue.Log, queue.Epoch, batch.TagBits, size)
            .Write(frame.Reserve(ProduceBatchHeader.Size));
        buffer.AsSpan(0, size).CopyTo(frame.Reserve(size));
        using ResponseFrame response = await InvokeAsync(frame, Opcode.Produce, cancellationToken);
    }

    private async Task<TResponse> CallAsync<TRequest, TResponse>(TRequest request, CancellationToken cancellationToken)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        var frame = FrameBuffer.Rent();
        request.Write(new PayloadWriter(frame));
        using ResponseFrame response = await InvokeAsync(frame, TRequest.Opcode, cancellationToken);
        return Payload.TryRead(response.PayloadSpan, out TResponse read)
            ? read
            : throw new InvalidDataException($"The answer to {TRequest.Opcode} cannot be read.");
    }

    private async Task<ResponseFrame> InvokeAsync(FrameBuffer frame, Opcode opcode, CancellationToken cancellationToken)
    {
        ResponseFrame response = await _client.InvokeAsync(frame, (byte)opcode, 0, Bound, cancellationToken);
        if (response.Header.Error == 0)
            return response;
        using (response)
            throw new InvalidOperationException($"{opcode}: {(ErrorCode)response.Header.Error}");
    }
}
