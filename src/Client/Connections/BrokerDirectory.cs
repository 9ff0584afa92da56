using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>
/// Knows the brokers: keeps the connection for administration and makes those for sending and reading.
/// </summary>
/// <remarks>
/// Thread-safe. Administration goes to the first of the given addresses that answers, and to the next one when it is
/// gone. Each producer and reader has connections of its own, one per broker in its routes.
/// </remarks>
internal sealed class BrokerDirectory : IAsyncDisposable
{
    private readonly ServerAddress[] _addresses;
    private readonly SemaphoreSlim _turn = new(1, 1);
    private readonly Guid _clientInstanceId = Guid.NewGuid();
    private readonly CancellationTokenSource _closing = new();
    private BrokerLink? _admin;
    private int _next;
    private bool _isDisposed;

    public BrokerDirectory(ClientOptions options)
    {
        Options = options;
        _addresses = options.InMemory is null
            ? ServerAddress.ParseList(options.Addresses)
            : [ServerAddress.InMemory];
    }

    public ClientOptions Options { get; }

    /// <summary>A connection of its own to a broker; the caller disposes it.</summary>
    public BrokerLink Open(ServerAddress address) => new(address, Options, _clientInstanceId);

    /// <summary>Asks any broker, over the connection for administration.</summary>
    public async ValueTask<TResponse> InvokeAsync<TRequest, TResponse>(
        IRequest<TRequest, TResponse> request, CancellationToken cancellationToken)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        var (answer, _) = await AskAsync(request, cancellationToken).ConfigureAwait(false);
        return answer;
    }

    /// <summary>Where the queues of topics are; the errors of single topics stay in the answer.</summary>
    public async ValueTask<Route> RouteAsync(
        IReadOnlyList<string> topics, bool autoCreate, CancellationToken cancellationToken)
    {
        var (response, source) = await AskAsync(new RouteRequest(topics, autoCreate), cancellationToken)
            .ConfigureAwait(false);
        if (response.Topics.Count != topics.Count
            || response.Topics.Any(topic => topic.Queues.Any(queue => queue.BrokerIndex >= response.Brokers.Count)))
        {
            throw Faults.Malformed(Opcode.Route, source.ToString());
        }

        return new Route(response, source);
    }

    /// <summary>The connection for administration, connected.</summary>
    /// <exception cref="EQueueException">No address answered within the request timeout.</exception>
    public async ValueTask<BrokerLink> GetAdminAsync(CancellationToken cancellationToken)
    {
        if (Volatile.Read(ref _admin) is { IsStale: false } connected
            && (connected.Remoting.IsConnected || _addresses.Length == 1))
        {
            return connected;
        }

        try
        {
            using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _closing.Token);
            await _turn.WaitAsync(either.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            throw _isDisposed ? Faults.Disposed("client") : Faults.Cancelled(cancellationToken);
        }

        try
        {
            return await FindAdminAsync(cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            _turn.Release();
        }
    }

    public async ValueTask DisposeAsync()
    {
        _isDisposed = true;
        await _closing.CancelAsync().ConfigureAwait(false);
        await _turn.WaitAsync(CancellationToken.None).ConfigureAwait(false);
        if (_admin is not null)
            await _admin.DisposeAsync().ConfigureAwait(false);
        _admin = null;
        _turn.Release();
    }

    private async ValueTask<(TResponse Answer, ServerAddress Source)> AskAsync<TRequest, TResponse>(
        IRequest<TRequest, TResponse> request, CancellationToken cancellationToken)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        while (true)
        {
            var link = await GetAdminAsync(cancellationToken).ConfigureAwait(false);
            try
            {
                var answer = await link
                    .InvokeAsync(request, Options.RequestTimeout, cancellationToken).ConfigureAwait(false);
                return (answer, link.Address);
            }
            catch (EQueueException) when (link.IsStale && !_isDisposed)
            {
                // Another store listens there now, and the request did not reach it: it goes over a new link.
            }
        }
    }

    private async ValueTask<BrokerLink> FindAdminAsync(CancellationToken cancellationToken)
    {
        if (_admin is { IsStale: false } current && current.Remoting.IsConnected)
            return current;

        var time = Options.TimeProvider;
        var started = time.GetTimestamp();
        while (true)
        {
            if (_isDisposed)
                throw Faults.Disposed("client");
            var left = Options.RequestTimeout - time.GetElapsedTime(started);
            try
            {
                return await ConnectNextAsync(left, cancellationToken).ConfigureAwait(false);
            }
            catch (EQueueException exception)
                when (exception.Code == ErrorCode.Unreachable && left > Options.ConnectTimeout)
            {
                // Not this one: the next address has its turn while time is left.
            }
        }
    }

    private async ValueTask<BrokerLink> ConnectNextAsync(TimeSpan left, CancellationToken cancellationToken)
    {
        if (_admin is null || _admin.IsStale || _addresses.Length > 1)
        {
            var old = _admin;
            _admin = Open(_addresses[_next++ % _addresses.Length]);
            if (old is not null)
                await old.DisposeAsync().ConfigureAwait(false);
        }

        // A single address is given all the time there is; of several, each has its turn.
        var patience = _addresses.Length > 1 && left > Options.ConnectTimeout ? Options.ConnectTimeout : left;
        var link = _admin;
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _closing.Token);
        try
        {
            await link.ConnectAsync(patience < TimeSpan.Zero ? TimeSpan.Zero : patience, either.Token)
                .ConfigureAwait(false);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.Cancelled && _isDisposed)
        {
            throw Faults.Disposed("client");
        }

        return link;
    }
}
