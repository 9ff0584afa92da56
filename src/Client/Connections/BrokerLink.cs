using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>
/// One connection to one broker for one purpose: says hello, reconnects by itself, carries typed requests.
/// </summary>
/// <remarks>
/// Queue ids mean something within one store only. So a link belongs to the store it met first: when the address turns
/// out to be another store, <see cref="IsStale"/> becomes true, every call fails, and the owner makes a new link.
/// </remarks>
internal sealed partial class BrokerLink : IAsyncDisposable
{
    /// <summary>Whole, such as 3.0.0-alpha.1: what a pre-release differs in, its broker's log tells.</summary>
    private static readonly string ClientVersion = "EQueue.Client/" + SoftwareVersion.Of(typeof(BrokerLink).Assembly);

    private readonly ClientOptions _options;
    private readonly Guid _clientInstanceId;
    private readonly ILogger _logger;
    private readonly ConnectReports _reports;
    private readonly LinkPlan _plan;
    private readonly bool _readsHistory;
    private volatile HelloResponse? _hello;
    private volatile LogHistory? _history;
    private volatile bool _isStale;

    /// <param name="address">Where the broker listens.</param>
    /// <param name="options">The client's.</param>
    /// <param name="clientInstanceId">The client's.</param>
    /// <param name="reports">Where connections are told of.</param>
    /// <param name="readsHistory">Whether each connection begins by asking for the <see cref="History"/>.</param>
    /// <param name="clusters">Which addresses are nodes of clusters; null = none is looked for.</param>
    public BrokerLink(
        ServerAddress address,
        ClientOptions options,
        Guid clientInstanceId,
        ConnectReports reports,
        bool readsHistory = false,
        ClusterMap? clusters = null)
    {
        _readsHistory = readsHistory;
        Address = address;
        _options = options;
        _clientInstanceId = clientInstanceId;
        _reports = reports;
        _logger = options.LoggerFactory.CreateLogger("EQueue.Client");
        bool isInMemory = address == ServerAddress.InMemory;
        _plan = isInMemory || clusters is null
            ? new LinkPlan(address, map: null, reports) : clusters.Plan(address, reports);
        Remoting = new RemotingClient(
            isInMemory ? options.InMemory! : address.ToEndPoint(),
            new RemotingClientOptions
            {
                HandshakeAsync = ShakeHandsAsync,
                Plan = isInMemory ? null : _plan,
                ConnectFailed = _plan.Failed,
                Tls = options.Tls,
                ConnectTimeout = AtLeast(options.ConnectTimeout),
                RequestTimeout = AtLeast(options.RequestTimeout),
                KeepAliveInterval = AtLeast(options.KeepAliveInterval),
                KeepAliveTimeout = AtLeast(options.KeepAliveTimeout),
                ReconnectDelay = options.ReconnectBackoffMin,
                MaxReconnectDelay = options.ReconnectBackoffMax,
                MaxFrameBytes = options.MaxFrameBytes,
            },
            options.LoggerFactory,
            options.TimeProvider);
        _plan.Anew = Remoting.ConnectAnew;
    }

    /// <summary>What its owner calls it: where the broker listens, or the first given address of the cluster.</summary>
    public ServerAddress Address { get; }

    public RemotingClient Remoting { get; }

    /// <summary>What the broker said last; null before the first connection.</summary>
    public HelloResponse? Hello => _hello;

    /// <summary>The history of the broker's log, as the newest connection was told before anything else went over it;
    /// null before the first, of a broker that does not tell it, and where it was not to be asked.</summary>
    public LogHistory? History => _history;

    /// <summary>Whether the address is another store now.</summary>
    public bool IsStale => _isStale;

    /// <summary>Waits until the broker has said hello.</summary>
    /// <exception cref="EQueueException">Cancelled, disposed, refused for good, or Unreachable after
    /// <paramref name="timeout"/>.</exception>
    public async ValueTask<HelloResponse> ConnectAsync(TimeSpan timeout, CancellationToken cancellationToken)
    {
        // The wait itself is ended: one that went on alone would fail later, unobserved.
        using var patience = new CancellationTokenSource(timeout, _options.TimeProvider);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(patience.Token, cancellationToken);
        try
        {
            await Remoting.WaitConnectedAsync(either.Token).ConfigureAwait(false);
            return _hello!;
        }
        catch (RemotingException exception) when (exception.Error == RemotingError.Cancelled
            && patience.IsCancellationRequested && !cancellationToken.IsCancellationRequested)
        {
            throw NotInTime(timeout);
        }
        catch (RemotingException exception)
        {
            throw FaultOf(exception);
        }
    }

    /// <summary>What a failed call means.</summary>
    public EQueueException FaultOf(RemotingException exception)
    {
        EQueueException fault = Faults.From(exception, Address);
        return _plan.Cluster is { } cluster && fault.Code is ErrorCode.Unreachable or ErrorCode.NotLeader
            ? new EQueueException(ErrorCode.Unreachable, $"{cluster.Describe()}.", exception)
            : fault;
    }

    /// <summary>What an answer with an error says. That of a node that leads no longer says no more than that the
    /// connection is of no use: the link leaves it.</summary>
    public EQueueException FaultOf(in ResponseFrame response)
    {
        EQueueException fault = Faults.From(response);
        if (fault.Code != ErrorCode.NotLeader || Address == ServerAddress.InMemory)
            return fault;
        _plan.Deposed(response, fault);
        return new EQueueException(
            ErrorCode.ConnectionLost, $"The cluster has another leader. {Address} said: {fault.Message}", fault);
    }

    /// <summary>Why there is no connection, in words; null = there is one, or nothing is known yet.</summary>
    public string? Trouble =>
        Remoting.LastFault is { } fault ? _plan.Cluster?.Describe() ?? ConnectReports.ReasonOf(fault) : null;

    private EQueueException NotInTime(TimeSpan timeout)
    {
        string trouble = Trouble is { } reason ? $": {reason}." : ".";
        return new EQueueException(
            ErrorCode.Unreachable,
            $"No connection to {Address} within {timeout.TotalSeconds:0.###} s{trouble}",
            Remoting.LastFault?.Cause);
    }

    /// <summary>Sends a request and reads its answer.</summary>
    /// <exception cref="EQueueException">The request failed, here or there.</exception>
    public async ValueTask<TResponse> InvokeAsync<TRequest, TResponse>(
        IRequest<TRequest, TResponse> request,
        TimeSpan timeout,
        CancellationToken cancellationToken,
        HistoryMark? mark = null)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        using ResponseFrame response =
            await SendAsync(TRequest.Opcode, (TRequest)request, timeout, cancellationToken, mark)
            .ConfigureAwait(false);
        return Payload.TryRead<TResponse>(response.PayloadSpan, out TResponse? answer)
            ? answer
            : throw Faults.Malformed(TRequest.Opcode, Address.ToString());
    }

    /// <summary>Sends a request; the answer is the caller's, to read and to dispose. A question is asked again when the
    /// connection is lost before its answer has come, as long as there is time.</summary>
    /// <param name="opcode">Its operation.</param>
    /// <param name="request">What is asked.</param>
    /// <param name="timeout">How long it may take.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <param name="mark">The opening that its places are of; null = the operation's first version, which says
    /// none.</param>
    /// <exception cref="EQueueException">The request failed, here or there.</exception>
    public async ValueTask<ResponseFrame> SendAsync<TRequest>(
        Opcode opcode,
        TRequest request,
        TimeSpan timeout,
        CancellationToken cancellationToken,
        HistoryMark? mark = null)
        where TRequest : IPayload<TRequest>
    {
        // Places are of one opening of the log, and the next connection may be to another one.
        bool isRepeated = mark is null && opcode.IsQuestion();
        long begun = _options.TimeProvider.GetTimestamp();
        TimeSpan left = timeout;
        while (true)
        {
            EQueueException fault;
            bool isLost;
            try
            {
                ResponseFrame response = await Remoting
                    .InvokeAsync(Encode(request, mark), (byte)opcode, VersionOf(mark), left, cancellationToken)
                    .ConfigureAwait(false);
                if (response.Header.Error == 0)
                    return response;
                using (response)
                    fault = FaultOf(response);
                isLost = fault.Code == ErrorCode.ConnectionLost; // a node that leads no longer
            }
            catch (RemotingException exception)
            {
                fault = FaultOf(exception);
                // What broke the protocol once does so again.
                isLost = exception is
                {
                    Error: RemotingError.ConnectionLost,
                    InnerException: not RemotingException { Error: RemotingError.ProtocolViolation },
                };
            }

            left = timeout - _options.TimeProvider.GetElapsedTime(begun);
            if (!isRepeated || !isLost || left <= TimeSpan.Zero)
                throw fault;
        }
    }

    /// <summary>As <see cref="InvokeAsync"/>, told to who listens to how long operations take.</summary>
    /// <param name="operation">Its name in the metrics.</param>
    /// <param name="group">The group it is for.</param>
    /// <param name="request">What is asked.</param>
    /// <param name="timeout">How long it may take.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <param name="mark">The opening that its places are of, or null.</param>
    /// <exception cref="EQueueException">The request failed, here or there.</exception>
    public async ValueTask<TResponse> InvokeObservedAsync<TRequest, TResponse>(
        string operation,
        string group,
        IRequest<TRequest, TResponse> request,
        TimeSpan timeout,
        CancellationToken cancellationToken,
        HistoryMark? mark = null)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        long begun = ClientMeter.Begin(_options.TimeProvider);
        try
        {
            TResponse answer = await InvokeAsync(request, timeout, cancellationToken, mark).ConfigureAwait(false);
            ObserveDuration(begun, operation, group, null);
            return answer;
        }
        catch (EQueueException exception)
        {
            ObserveDuration(begun, operation, group, exception);
            throw;
        }
    }

    public ValueTask DisposeAsync()
    {
        _plan.Dispose();
        return Remoting.DisposeAsync();
    }

    /// <summary>The version of a request that says the opening its places are of, or does not.</summary>
    public static byte VersionOf(HistoryMark? mark) => mark is null ? (byte)0 : OperationVersions.Marked;

    /// <summary>Encodes a request's body, behind the opening that its places are of if that is said.</summary>
    public static FrameBuffer Encode<TRequest>(TRequest request, HistoryMark? mark = null)
        where TRequest : IPayload<TRequest>
    {
        var frame = FrameBuffer.Rent();
        try
        {
            mark?.Write(new PayloadWriter(frame));
            request.Write(new PayloadWriter(frame));
            return frame;
        }
        catch
        {
            // A text is too long for the protocol.
            frame.Dispose();
            throw;
        }
    }

    private void ObserveDuration(long begun, string operation, string group, EQueueException? failure) =>
        ClientMeter.RecordDuration(
            _logger, _options.TimeProvider, begun, operation, topic: null, group, Address, failure);

    private static TimeSpan AtLeast(TimeSpan value)
    {
        var least = TimeSpan.FromMilliseconds(100);
        return value < least ? least : value;
    }
}
