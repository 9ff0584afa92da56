using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>A client of the broker of this process, over memory and in one asker's name: what goes through it goes
/// through the dispatcher, as everything that clients ask.</summary>
/// <remarks>Used by one request at a time, so that none waits behind another.</remarks>
internal sealed class AskerClient : IAsyncDisposable
{
    /// <summary>What the broker calls who asks over HTTP; quotas may name it.</summary>
    public const string ClientName = "equeue-admin-http";

    private readonly EQueueClient _client;

    /// <param name="endPoint">Where the broker is.</param>
    /// <param name="maxFrameBytes">The longest frame that it may send.</param>
    /// <param name="longestWait">How long one question may take.</param>
    /// <param name="asker">Whose requests go through it: the broker takes this process's word for it, over memory
    /// alone.</param>
    public AskerClient(InMemoryEndPoint endPoint, int maxFrameBytes, TimeSpan longestWait, InProcessWord asker)
    {
        Asker = asker;
        // The broker logs its side of the connection, and the asker is told of failures.
        _client = new EQueueClient(new ClientOptions
        {
            InMemory = endPoint,
            Credentials = Credentials.InProcess(asker),
            ClientName = ClientName,
            MaxFrameBytes = maxFrameBytes,
            RequestTimeout = longestWait,
        });
    }

    /// <summary>Whose requests go through it.</summary>
    public InProcessWord Asker { get; }

    public EQueueAdmin Admin => _client.Admin;

    public BrokerDirectory Directory => _client.Directory;

    /// <summary>Its connection, made at first need.</summary>
    public BrokerLink Link => Directory.Brokers[0].GetLink();

    /// <summary>Asks and reads the answer.</summary>
    /// <exception cref="EQueueException">The broker refused, or there is no connection.</exception>
    public ValueTask<TResponse> InvokeAsync<TRequest, TResponse>(
        IRequest<TRequest, TResponse> request, TimeSpan timeout, CancellationToken cancellationToken)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        AskAsync(link => link.InvokeAsync(request, timeout, cancellationToken), cancellationToken);

    /// <summary>Asks over its connection; that it was cancelled is what .NET says for that.</summary>
    public ValueTask<T> AskAsync<T>(Func<BrokerLink, ValueTask<T>> ask, CancellationToken cancellationToken) =>
        PublicCall.RunAsync(typeof(EQueueClient), () => ask(Link), cancellationToken);

    public ValueTask DisposeAsync() => _client.DisposeAsync();
}
