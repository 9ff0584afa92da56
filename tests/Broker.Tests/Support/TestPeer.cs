using System.Net;
using System.Text;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Broker.Tests;

/// <summary>A connection that has said Hello and speaks the protocol plainly.</summary>
internal sealed class TestPeer : IAsyncDisposable
{
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private readonly RemotingClient _client;

    private TestPeer(EndPoint endPoint, HelloRequest hello, TlsOptions? tls)
    {
        var options = new RemotingClientOptions
        {
            MaxFrameBytes = (int)Math.Max(hello.MaxFrameBytes, 16 << 20),
            Tls = tls,
            HandshakeAsync = async (channel, cancellationToken) =>
            {
                using ResponseFrame answer = await channel.InvokeAsync(
                    Encode(hello), (byte)Opcode.Hello, 0, cancellationToken);
                Hello = Read<HelloResponse>(answer);
            },
        };
        _client = new RemotingClient(endPoint, options, NullLoggerFactory.Instance);
    }

    /// <summary>Connections so far.</summary>
    public long ConnectionGeneration => _client.ConnectionGeneration;

    public HelloResponse Hello { get; private set; } = new();

    public static async Task<TestPeer> ConnectAsync(
        EndPoint endPoint, string name = "test", uint maxFrameBytes = 16 << 20)
    {
        return await ConnectAsync(endPoint, NewHello(name) with { MaxFrameBytes = maxFrameBytes });
    }

    /// <summary>Connects with a token of a user.</summary>
    public static Task<TestPeer> LogInAsync(EndPoint endPoint, string token) => ConnectAsync(
        endPoint,
        NewHello("test") with { Mechanism = Mechanisms.Token, Credentials = Encoding.UTF8.GetBytes(token) });

    public static async Task<TestPeer> ConnectAsync(EndPoint endPoint, HelloRequest hello, TlsOptions? tls = null)
    {
        var peer = new TestPeer(endPoint, hello, tls);
        using var timeout = new CancellationTokenSource(Patience);
        await peer._client.WaitConnectedAsync(timeout.Token);
        return peer;
    }

    public static HelloRequest NewHello(string name) => new()
    {
        ClientInstanceId = Guid.NewGuid(),
        ClientName = name,
        ClientVersion = "tests",
        MaxFrameBytes = 16 << 20,
    };

    public async Task<TResponse> InvokeAsync<TRequest, TResponse>(IRequest<TRequest, TResponse> request)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        using ResponseFrame answer = await SendAsync(TRequest.Opcode, Encode((TRequest)request));
        return Read<TResponse>(answer);
    }

    public ValueTask<ResponseFrame> SendAsync(Opcode opcode, FrameBuffer body, byte version = 0) =>
        _client.InvokeAsync(body, (byte)opcode, version, Patience, CancellationToken.None);

    public ValueTask SendOnewayAsync(Opcode opcode, FrameBuffer body) =>
        _client.SendOnewayAsync(body, (byte)opcode, 0, CancellationToken.None);

    /// <summary>Sends a request that takes several answers, where the sink does.</summary>
    public void Follow(Opcode opcode, FrameBuffer body, IResponseSink sink) =>
        _client.Invoke(body, (byte)opcode, 0, Patience, sink, token: 0, inlineAllowed: true);

    public async Task<ErrorCode> RefusalAsync(Opcode opcode, FrameBuffer body, byte version = 0)
    {
        using ResponseFrame answer = await SendAsync(opcode, body, version);
        return (ErrorCode)answer.Header.Error;
    }

    /// <summary>What the broker says against a request.</summary>
    public async Task<EQueueException> RefusalAsync<TRequest, TResponse>(IRequest<TRequest, TResponse> request)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        await Assert.ThrowsAsync<EQueueException>(() => InvokeAsync(request));

    public async Task<long> FigureAsync(string name) =>
        (await InvokeAsync(new StatsRequest())).Find(name)
        ?? throw new InvalidOperationException($"No figure {name}.");

    /// <summary>Waits until so many fetches wait at the broker.</summary>
    public Task UntilParkedAsync(int count) =>
        Eventually.TrueAsync(
            async () => await FigureAsync("broker.parkedFetches") == count, $"{count} fetches should wait.");

    public async Task<TopicDescription> CreateTopicAsync(string topic, int queues = 1) =>
        await InvokeAsync(new CreateTopicRequest(topic, new TopicSettings { QueueCount = queues }));

    public ValueTask DisposeAsync() => _client.DisposeAsync();

    public static FrameBuffer Encode<T>(T value)
        where T : IPayload<T>
    {
        var body = FrameBuffer.Rent();
        value.Write(new PayloadWriter(body));
        return body;
    }

    public static FrameBuffer Bytes(params byte[] bytes)
    {
        var body = FrameBuffer.Rent(bytes.Length);
        bytes.CopyTo(body.Reserve(bytes.Length));
        return body;
    }

    public static T Read<T>(ResponseFrame answer)
        where T : IPayload<T>
    {
        if (answer.Header.Error != 0)
        {
            Payload.TryRead(answer.Payload.Span, out ErrorDetail detail);
            throw new EQueueException((ErrorCode)answer.Header.Error, detail.Message ?? "");
        }

        if (!Payload.TryRead(answer.Payload.Span, out T value))
            throw new InvalidDataException($"{answer.Payload.Length} bytes are not a {typeof(T).Name}.");
        return value;
    }
}
