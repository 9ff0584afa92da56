using System.Net;
using System.Net.Sockets;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <content>How each connection begins: Hello, the proof of who the client is, the history of the log.</content>
internal sealed partial class BrokerLink
{
    private volatile Login? _refused;

    /// <summary>Who the broker takes the client for, as its rules name it; "" = it was not told.</summary>
    public string Principal { get; private set; } = "";

    /// <summary>Whether the link has ended because its credentials were refused, and there are others by now.</summary>
    public bool HasNewCredentials => _refused is { } refused && refused.HasChanged();

    private async ValueTask ShakeHandsAsync(IHandshakeChannel channel, CancellationToken cancellationToken)
    {
        HelloResponse hello = _options.Credentials is { } credentials
            ? await LogInAsync(channel, credentials, cancellationToken).ConfigureAwait(false)
            : await GreetAsync<HelloResponse>(channel, Greeting(), 0, cancellationToken).ConfigureAwait(false);
        LogHistory? history = _readsHistory && TellsHistory(hello)
            ? await ReadHistoryAsync(channel, cancellationToken).ConfigureAwait(false)
            : null;
        await _plan.AdmitAsync(hello, () => AskNodesAsync(channel, cancellationToken)).ConfigureAwait(false);
        Accept(hello);
        _history = history;
    }

    /// <summary>Says who the client is, and proves it in as many steps as the broker asks for.</summary>
    private async ValueTask<HelloResponse> LogInAsync(
        IHandshakeChannel channel, Credentials credentials, CancellationToken cancellationToken)
    {
        if (_options.Tls is null && !IsPrivate(channel.RemoteEndPoint))
            throw ForGood(Faults.Unprotected(Address));
        Login login = credentials.Begin();
        try
        {
            HelloRequest request = Greeting() with { Mechanism = login.Mechanism, Credentials = login.First };
            for (int step = 1; step <= Login.MaxSteps; step++)
            {
                AuthenticatedHello answer = await GreetAsync<AuthenticatedHello>(
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
        Features = HelloFeatures.Cluster,
        ClientInstanceId = _clientInstanceId,
        ClientName = _options.ClientName,
        ClientVersion = ClientVersion,
        MaxFrameBytes = (uint)_options.MaxFrameBytes,
    };

    private async ValueTask<TAnswer> GreetAsync<TAnswer>(
        IHandshakeChannel channel, HelloRequest request, byte version, CancellationToken cancellationToken)
        where TAnswer : IPayload<TAnswer>
    {
        using ResponseFrame response = await channel
            .InvokeAsync(Encode(request), (byte)Opcode.Hello, version, cancellationToken).ConfigureAwait(false);
        if (response.Header.Error != 0)
        {
            EQueueException refusal = Faults.From(response);
            if (refusal.Code == ErrorCode.NotLeader)
                _plan.Refused(response);
            throw Refused(version > 0 && refusal.Code == ErrorCode.UnsupportedVersion
                ? Faults.KnowsNoCredentials(Address, refusal) : refusal);
        }

        return Payload.TryRead<TAnswer>(response.PayloadSpan, out TAnswer? answer)
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
        using ResponseFrame response = await channel
            .InvokeAsync(Encode(request), (byte)Opcode.CheckHistory, 0, cancellationToken).ConfigureAwait(false);
        if (response.Header.Error != 0)
            throw Refused(Faults.From(response));
        return Payload.TryRead<CheckHistoryResponse>(response.PayloadSpan, out CheckHistoryResponse? answer)
            ? answer.History
            : throw Faults.Malformed(Opcode.CheckHistory, Address.ToString());
    }

    /// <summary>Asks the leader of a cluster for the other nodes.</summary>
    /// <returns>Null: it does not tell.</returns>
    private static async ValueTask<WatchLeaderResponse?> AskNodesAsync(
        IHandshakeChannel channel, CancellationToken cancellationToken)
    {
        var request = new WatchLeaderRequest(Epoch: 0, TimeSpan.Zero);
        using ResponseFrame response = await channel
            .InvokeAsync(Encode(request), (byte)Opcode.WatchLeader, 0, cancellationToken).ConfigureAwait(false);
        return response.Header.Error == 0 && Payload.TryRead(response.PayloadSpan, out WatchLeaderResponse told)
            ? told : null;
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
        && exception.Code is ErrorCode.UnsupportedVersion or ErrorCode.AuthenticationFailed or ErrorCode.Unauthenticated
            or ErrorCode.NotAuthorized or ErrorCode.InvalidArgument or ErrorCode.MalformedRequest
            or ErrorCode.UnknownOperation
            ? ForGood(exception) : exception;

    private static PermanentFailureException ForGood(EQueueException exception) => new(exception.Message, exception);
}
