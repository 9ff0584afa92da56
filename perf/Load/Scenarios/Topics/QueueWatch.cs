using System.Net;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Load.Scenarios;

/// <summary>
/// A fetch session over all queues of many topics, in the protocol's own words: one long poll after the other.
/// </summary>
/// <remarks>Not a <see cref="QueueReader"/>: what the broker pays is measured here, not the client's list of
/// queues.</remarks>
internal sealed class QueueWatch : IAsyncDisposable
{
    private const int RoutedAtOnce = 1_000;

    private static readonly TimeSpan Timeout = TimeSpan.FromSeconds(60);

    /// <summary>As long as a reader waits that was told nothing else.</summary>
    private static readonly TimeSpan Wait = new ReaderOptions().MaxFetchWait;

    private readonly RemotingClient _client;
    private readonly Dictionary<QueueKey, string> _topicOf = [];
    private uint _sessionId;

    public QueueWatch(string server)
    {
        var options = new RemotingClientOptions { HandshakeAsync = GreetAsync };
        _client = new RemotingClient(IPEndPoint.Parse(server), options, NullLoggerFactory.Instance);
    }

    /// <summary>Makes the session with all queues from their begin on.</summary>
    /// <returns>Queues in it.</returns>
    public async Task<int> BeginAsync(IReadOnlyList<string> topics, CancellationToken cancellationToken)
    {
        await _client.WaitConnectedAsync(cancellationToken);
        foreach (string[] some in topics.Chunk(RoutedAtOnce))
        {
            using ResponseFrame answer = await InvokeAsync(Opcode.Route, new RouteRequest(some, false), cancellationToken);
            Take(Payload.TryRead<RouteResponse>(answer.Payload.Span, out RouteResponse? route) ? route : throw NotUnderstood());
        }

        const int bytes = 1 << 20;
        var request = new FetchRequest
        {
            Queues = [.. _topicOf.Keys.Select(
                key => new FetchQueue(key, new QueueOffset(0), -1, bytes, 0, new QueueOffset(0)))],
        };
        using ResponseFrame first = await InvokeAsync(Opcode.Fetch, request, cancellationToken);
        _sessionId = FetchResponseHeader.TryRead(first.Payload.Span, out FetchResponseHeader header)
            ? header.SessionId
            : throw NotUnderstood();
        if (header.QueueCount > 0)
            throw LoadException.Failed($"{header.QueueCount} queues are not empty, or are refused");
        return _topicOf.Count;
    }

    /// <summary>Waits until there is something in a queue; gives its topic.</summary>
    public async Task<string> WaitAsync(CancellationToken cancellationToken)
    {
        for (uint sequence = 1; ; sequence++)
        {
            var request = new FetchRequest
            {
                SessionId = _sessionId,
                Sequence = sequence,
                MaxWaitMs = (int)Wait.TotalMilliseconds,
            };
            using ResponseFrame answer = await InvokeAsync(Opcode.Fetch, request, cancellationToken);
            ReadOnlyMemory<byte> payload = answer.Payload;
            if (!FetchResponseHeader.TryRead(payload.Span, out FetchResponseHeader header))
                throw NotUnderstood();
            if (header.QueueCount == 0)
                continue;
            if (!FetchedQueueHeader.TryRead(payload.Span[FetchResponseHeader.Size..], out FetchedQueueHeader queue))
                throw NotUnderstood();
            return queue.Error == ErrorCode.None
                ? _topicOf[new QueueKey(queue.Log, queue.Queue)]
                : throw LoadException.Failed($"a queue cannot be fetched: {queue.Error}");
        }
    }

    public ValueTask DisposeAsync() => _client.DisposeAsync();

    private static FrameBuffer Encode<T>(T request)
        where T : IPayload<T>
    {
        var frame = FrameBuffer.Rent();
        request.Write(new PayloadWriter(frame));
        return frame;
    }

    private static async ValueTask GreetAsync(IHandshakeChannel channel, CancellationToken cancellationToken)
    {
        var hello = new HelloRequest
        {
            ClientInstanceId = Guid.NewGuid(),
            ClientName = "equeue-load",
            ClientVersion = "EQueue.Load",
            MaxFrameBytes = 64 << 20,
        };
        using ResponseFrame answer = await channel.InvokeAsync(Encode(hello), (byte)Opcode.Hello, 0, cancellationToken);
        if (answer.Header.Error != 0)
            throw LoadException.Failed($"the broker refuses: {(ErrorCode)answer.Header.Error}");
    }

    private static LoadException NotUnderstood() => LoadException.Failed("the broker's answer is not understood");

    private async Task<ResponseFrame> InvokeAsync<T>(Opcode opcode, T request, CancellationToken cancellationToken)
        where T : IPayload<T>
    {
        ResponseFrame answer = await _client.InvokeAsync(Encode(request), (byte)opcode, 0, Timeout, cancellationToken);
        if (answer.Header.Error == 0)
            return answer;
        using (answer)
            throw LoadException.Failed($"the broker refuses {opcode}: {(ErrorCode)answer.Header.Error}");
    }

    private void Take(RouteResponse route)
    {
        foreach (TopicRoute topic in route.Topics)
        {
            if (topic.Error != ErrorCode.None)
                throw LoadException.Failed($"no way to {topic.Topic}: {topic.Error}");
            foreach (QueueRoute queue in topic.Queues)
                _topicOf[new QueueKey(queue.Log, queue.Id)] = topic.Topic;
        }
    }
}
