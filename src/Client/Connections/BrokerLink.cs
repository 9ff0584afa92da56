using System.Net;
using System.Net.Sockets;
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
internal sealed class BrokerLink : IAsyncDisposable
{
    /// <summary>Whole, such as 3.0.0-alpha.1: what a pre-release differs in, its broker's log tells.</summary>
    private static readonly string ClientVersion = "EQueue.Client/" + SoftwareVersion.Of(typeof(BrokerLink).Assembly);

    private readonly ClientOptions _options;
    private readonly Guid _clientInstanceId;
    private readonly ILogger _logger;
    private readonly ConnectReports _reports;
    private readonly bool _readsHistory;
    private volatile HelloResponse? _hello;
    private volatile LogHistory? _history;
    private volatile Login? _refused;
    private volatile bool _isStale;

    /// <param name="address">Where the broker listens.</param>
    /// <param name="options">The client's.</param>
    /// <param name="clientInstanceId">The client's.</param>
    /// <param name="reports">Where connections are told of.</param>
    /// <param name="readsHistory">Whether each connection begins by asking for the <see cref="History"/>.</param>
    public BrokerLink(
        ServerAddress address,
        ClientOptions options,
        Guid clientInstanceId,
        ConnectReports reports,
        bool readsHistory = false)
    {
        _readsHistory = readsHistory;
        Address = address;
        _options = options;
        _clientInstanceId = clientInstanceId;
        _reports = reports;
        _logger = options.LoggerFactory.CreateLogger("EQueue.Client");
        Remoting = new RemotingClient(
            address == ServerAddress.InMemory ? options.InMemory! : address.ToEndPoint(),
            new RemotingClientOptions
            {
                HandshakeAsync = ShakeHandsAsync,
                ConnectFailed = fault => reports.Failed(address, fault),
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
    }

    public ServerAddress Address { get; }

    public RemotingClient Remoting { get; }

    /// <summary>What the broker said last; null before the first connection.</summary>
    public HelloResponse? Hello => _hello;

    /// <summary>The history of the broker's log, as the newest connection was told before anything else went over it;
    /// null before the first, of a broker that does not tell it, and where it was not to be asked.</summary>
    public LogHistory? History => _history;

    /// <summary>Whether the address is another store now.</summary>
    public bool IsStale => _isStale;

    /// <summary>Who the broker takes the client for, as its rules name it; "" = it was not told.</summary>
    public string Principal { get; private set; } = "";

    /// <summary>Whether the link has ended because its credentials were refused, and there are others by now.</summary>
    public bool HasNewCredentials => _refused is { } refused && refused.HasChanged();

    /// <summary>Waits until the broker has said hello.</summary>
    /// <exception cref="EQueueException">Cancelled, disposed, refused for good, or Unreachable after
    /// <paramref name="timeout"/>.</exception>
    public async ValueTask<HelloResponse> ConnectAsync(TimeSpan timeout, CancellationToken cancellationToken)
    {
        // The wait itself is ended: one that went on alone would fail later, and nobody would see it.
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
            throw Faults.From(exception, Address);
        }
    }

    /// <summary>Why there is no connection, in words; null = there is one, or nothing is known yet.</summary>
    public string? Trouble =>
        Remoting.LastFault is { } fault ? ConnectReports.ReasonOf(fault) : null;

    private EQueueException NotInTime(TimeSpan timeout)
    {
        var trouble = Trouble is { } reason ? $": {reason}." : ".";
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
        using var response = await SendAsync(TRequest.Opcode, (TRequest)request, timeout, cancellationToken, mark)
            .ConfigureAwait(false);
        return Payload.TryRead<TResponse>(response.PayloadSpan, out var answer)
            ? answer
            : throw Faults.Malformed(TRequest.Opcode, Address.ToString());
    }

    /// <summary>Sends a request; the answer is the caller's, to read and to dispose.</summary>
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
        try
        {
            var response = await Remoting
                .InvokeAsync(Encode(request, mark), (byte)opcode, VersionOf(mark), timeout, cancellationToken)
                .ConfigureAwait(false);
            if (response.Header.Error == 0)
                return response;
            using (response)
                throw Faults.From(response);
        }
        catch (RemotingException exception)
        {
            throw Faults.From(exception, Address);
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
        var begun = ClientMeter.Begin(_options.TimeProvider);
        try
        {
            var answer = await InvokeAsync(request, timeout, cancellationToken, mark).ConfigureAwait(false);
            ObserveDuration(begun, operation, group, null);
            return answer;
        }
        catch (EQueueException exception)
        {
            ObserveDuration(begun, operation, group, exception);
            throw;
        }
    }

    public ValueTask DisposeAsync() => Remoting.DisposeAsync();

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

    private async ValueTask ShakeHandsAsync(IHandshakeChannel channel, CancellationToken cancellationToken)
    {
        var hello = _options.Credentials is { } credentials
            ? await LogInAsync(channel, credentials, cancellationToken).ConfigureAwait(false)
            : await GreetAsync<HelloResponse>(channel, Greeting(), 0, cancellationToken).ConfigureAwait(false);
        var history = _readsHistory && TellsHistory(hello)
            ? await ReadHistoryAsync(channel, cancellationToken).ConfigureAwait(false)
            : null;
        Accept(hello);
        _history = history;
    }

    /// <summary>Says who the client is, and proves it in as many steps as the broker asks for.</summary>
    private async ValueTask<HelloResponse> LogInAsync(
        IHandshakeChannel channel, Credentials credentials, CancellationToken cancellationToken)
    {
        if (_options.Tls is null && !IsPrivate(channel.RemoteEndPoint))
            throw ForGood(Faults.Unprotected(Address));
        var login = credentials.Begin();
        try
        {
            var request = Greeting() with { Mechanism = login.Mechanism, Credentials = login.First };
            for (var step = 1; step <= Login.MaxSteps; step++)
            {
                var answer = await GreetAsync<AuthenticatedHello>(
                    channel, request, OperationVersions.Authenticated, cancellationToken).ConfigureAwait(false);
                if (answer.IsDone)
                {
                    login.Finish(answer.Challenge.Span, Address);
                    NotePrincipal(answer.Principal);
                    return answer.Hello;
                }

                request = request with { Credentials = login.Answer(answer.Challenge.Span, Address) };
            }

            throw new EQueueException(
                ErrorCode.AuthenticationFailed, $"{Address} is not done after {Login.MaxSteps} steps.");
        }
        catch (EQueueException exception) when (login is NoLogin && _hello is not null)
        {
            // It has worked before: the file is being written anew, perhaps.
            throw new EQueueException(ErrorCode.Unreachable, exception.Message, exception);
        }
        catch (EQueueException exception)
            when (exception.Code == ErrorCode.AuthenticationFailed && exception.RetryAfter == TimeSpan.Zero)
        {
            _refused = login;
            throw ForGood(exception);
        }
        catch (PermanentFailureException)
        {
            _refused = login;
            throw;
        }
    }

    private HelloRequest Greeting() => new()
    {
        ClientInstanceId = _clientInstanceId,
        ClientName = _options.ClientName,
        ClientVersion = ClientVersion,
        MaxFrameBytes = (uint)_options.MaxFrameBytes,
    };

    private async ValueTask<TAnswer> GreetAsync<TAnswer>(
        IHandshakeChannel channel, HelloRequest request, byte version, CancellationToken cancellationToken)
        where TAnswer : IPayload<TAnswer>
    {
        using var response = await channel
            .InvokeAsync(Encode(request), (byte)Opcode.Hello, version, cancellationToken).ConfigureAwait(false);
        if (response.Header.Error != 0)
        {
            var refusal = Faults.From(response);
            throw Refused(version > 0 && refusal.Code == ErrorCode.UnsupportedVersion
                ? Faults.KnowsNoCredentials(Address, refusal) : refusal);
        }

        return Payload.TryRead<TAnswer>(response.PayloadSpan, out var answer)
            ? answer
            : throw Faults.Malformed(Opcode.Hello, Address.ToString());
    }

    /// <summary>Whether what goes over a connection without TLS stays on this machine.</summary>
    internal static bool IsPrivate(EndPoint endPoint) => endPoint switch
    {
        IPEndPoint { Address: var address } =>
            IPAddress.IsLoopback(address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address),
        InMemoryEndPoint or UnixDomainSocketEndPoint => true,
        _ => false,
    };

    private void NotePrincipal(string principal)
    {
        if (Principal != principal)
            Log.LoggedIn(_logger, Address, principal);
        Principal = principal;
    }

    private static bool TellsHistory(HelloResponse hello) =>
        hello.Operations.Any(static one => one.Opcode == Opcode.CheckHistory)
        && hello.Operations.Any(static one =>
                one is { Opcode: Opcode.Fetch, Max: >= OperationVersions.Marked })
        && hello.Operations.Any(static one =>
            one is { Opcode: Opcode.CommitOffsets, Max: >= OperationVersions.Marked });

    private async ValueTask<LogHistory> ReadHistoryAsync(
        IHandshakeChannel channel, CancellationToken cancellationToken)
    {
        var request = new CheckHistoryRequest(LogHistory.None, []);
        using var response = await channel
            .InvokeAsync(Encode(request), (byte)Opcode.CheckHistory, 0, cancellationToken).ConfigureAwait(false);
        if (response.Header.Error != 0)
            throw Refused(Faults.From(response));
        return Payload.TryRead<CheckHistoryResponse>(response.PayloadSpan, out var answer)
            ? answer.History
            : throw Faults.Malformed(Opcode.CheckHistory, Address.ToString());
    }

    private void Accept(HelloResponse hello)
    {
        if (hello.Version != HelloRequest.ProtocolVersion)
        {
            throw ForGood(new EQueueException(
                ErrorCode.UnsupportedVersion,
                $"{Address} speaks version {hello.Version}, this client {HelloRequest.ProtocolVersion}."));
        }

        if (_hello is { } known && known.StoreId != hello.StoreId)
        {
            _isStale = true;
            Log.StoreChanged(_logger, Address, hello.StoreId, known.StoreId);
            throw ForGood(new EQueueException(
                ErrorCode.UnknownQueue, $"{Address} is store {hello.StoreId} now, not {known.StoreId}."));
        }

        if (_hello is null)
            Log.Connected(_logger, Address, hello.StoreId, hello.BrokerVersion);
        else
            ClientMeter.CountReconnect(_logger, Address);
        _hello = hello;
        _reports.Connected(Address);
    }

    /// <summary>What no later attempt can change ends the link. Anything else may pass, and is tried again: so is a
    /// refusal that names a time to wait, because others at this address have failed to log in.</summary>
    private static Exception Refused(EQueueException exception) =>
        exception.RetryAfter == TimeSpan.Zero
            && exception.Code is ErrorCode.UnsupportedVersion or ErrorCode.AuthenticationFailed
                or ErrorCode.Unauthenticated or ErrorCode.NotAuthorized or ErrorCode.InvalidArgument
                or ErrorCode.MalformedRequest or ErrorCode.UnknownOperation
            ? ForGood(exception)
            : exception;

    private static PermanentFailureException ForGood(EQueueException exception) => new(exception.Message, exception);
}
