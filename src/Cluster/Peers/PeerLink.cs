using System.Net.Sockets;
using System.Security.Cryptography;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Replication;
using Microsoft.Extensions.Logging;

namespace EQueue.Cluster;

/// <summary>This node's connection to another one: what it has to say goes here, what the other one says comes over
/// the other one's.</summary>
/// <remarks>Thread-safe. A message is dropped while there is no connection: the rules say it again.</remarks>
internal sealed class PeerLink : IAsyncDisposable
{
    /// <summary>So much that the peer has not taken is enough: what is said later matters more.</summary>
    private const long MostQueuedBytes = 64 << 20;

    /// <summary>What is no longer than a few messages leaves at once: a thread of the pool costs more than the
    /// sending.</summary>
    private const int PromptBytes = 64 << 10;

    private const int MostReasons = 100;

    private static readonly TimeSpan ConnectTimeout = TimeSpan.FromSeconds(2);

    private readonly PeerNames _names;
    private readonly PeerSecret _secret;
    private readonly RemotingClient _client;
    private readonly Action<string>? _unreachable;
    private readonly TaskCompletionSource _first = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly HashSet<string> _told = new(StringComparer.Ordinal);
    private readonly ILogger _logger;
    private int _refusals;

    /// <param name="names">Who this node is.</param>
    /// <param name="node">The other one.</param>
    /// <param name="address">Where it listens.</param>
    /// <param name="secret">What both know.</param>
    /// <param name="options">Frames and TLS.</param>
    /// <param name="unreachable">Called with the node's name when connections are refused twice in a row; null for a
    /// link whose failures its user tells.</param>
    /// <param name="loggers">For the connection's log lines.</param>
    public PeerLink(
        PeerNames names,
        string node,
        string address,
        PeerSecret secret,
        PeerLinkOptions options,
        Action<string>? unreachable,
        ILoggerFactory loggers)
    {
        (_names, Node, Address, _secret, _unreachable) = (names, node, address, secret, unreachable);
        _logger = loggers.CreateLogger("EQueue.Cluster");
        _client = new RemotingClient(
            HostPort.Parse(address),
            new RemotingClientOptions
            {
                HandshakeAsync = ShakeHandsAsync,
                ConnectFailed = NoteFailure,
                Tls = options.Tls,
                ConnectTimeout = ConnectTimeout,
                RequestTimeout = TimeSpan.FromSeconds(10),
                KeepAliveInterval = TimeSpan.FromSeconds(2),
                KeepAliveTimeout = TimeSpan.FromSeconds(2),
                ReconnectDelay = TimeSpan.FromMilliseconds(50),
                MaxReconnectDelay = TimeSpan.FromMilliseconds(500),
                MaxFrameBytes = options.MaxFrameBytes,
                PromptOnewayBytes = PromptBytes,
            },
            loggers);
    }

    /// <summary>The other node's name.</summary>
    public string Node { get; }

    /// <summary>Where the other node listens.</summary>
    public string Address { get; }

    /// <summary>Whether the other node has answered.</summary>
    public bool IsConnected => _client.IsConnected;

    /// <summary>Begins to connect.</summary>
    public void Start() => _ = _client.WaitConnectedAsync(CancellationToken.None).AsTask()
        .ContinueWith(static done => _ = done.Exception, TaskScheduler.Default);

    /// <summary>Waits for the first connection.</summary>
    /// <exception cref="RemotingException">The first attempt failed: the message says why.</exception>
    public async Task ConnectAsync(CancellationToken cancellationToken)
    {
        Start();
        await _first.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Says a message, or drops it.</summary>
    public void Send(PeerMessage message)
    {
        if (Begin() is not { } frame)
            return;
        PeerCodec.Write(new PayloadWriter(frame), message);
        Send(frame);
    }

    /// <summary>A frame to write a message into; null when it would be dropped.</summary>
    public FrameBuffer? Begin() =>
        _client.IsConnected && _client.QueuedBytes < MostQueuedBytes ? FrameBuffer.Rent() : null;

    /// <summary>Sends a frame with a message; it is the link's from here on.</summary>
    public void Send(FrameBuffer frame)
    {
        ValueTask sending = _client.SendOnewayAsync(frame, (byte)PeerOpcode.Message, 0, CancellationToken.None);
        if (!sending.IsCompletedSuccessfully)
            _ = IgnoreAsync(sending);
    }

    /// <summary>Asks for something and waits for the answer.</summary>
    /// <exception cref="RemotingException">No answer came.</exception>
    /// <exception cref="EQueueException">The other node refused.</exception>
    public async ValueTask<ResponseFrame> InvokeAsync(
        FrameBuffer request, PeerOpcode opcode, CancellationToken cancellationToken)
    {
        ResponseFrame response = await _client
            .InvokeAsync(request, (byte)opcode, 0, TimeSpan.FromSeconds(30), cancellationToken).ConfigureAwait(false);
        try
        {
            Demand(response);
            return response;
        }
        catch
        {
            response.Dispose();
            throw;
        }
    }

    /// <summary>Completes when nothing waits to be taken by the other node.</summary>
    public Task WhenDrained() => _client.WhenDrained();

    public ValueTask DisposeAsync() => _client.DisposeAsync();

    private static async Task IgnoreAsync(ValueTask sending)
    {
        try
        {
            await sending.ConfigureAwait(false);
        }
        catch (RemotingException)
        {
            // As good as lost on the way.
        }
    }

    private void NoteFailure(ConnectFault fault)
    {
        bool isRefused = fault.Cause is SocketException { SocketErrorCode: SocketError.ConnectionRefused }
            || fault.Cause?.InnerException is SocketException { SocketErrorCode: SocketError.ConnectionRefused };
        _refusals = isRefused ? _refusals + 1 : 0;
        if (_first.TrySetException(new RemotingException(RemotingError.Unreachable, fault.Reason)))
            _ = _first.Task.Exception;
        if (_unreachable is null)
            return;
        if (_refusals >= 2)
            _unreachable(Node);
        // Each reason once, until there is a connection again.
        if (_told.Count < MostReasons && _told.Add(fault.Reason))
            _logger.NoConnection(_names.Node, Node, Address, fault.Reason);
    }

    private async ValueTask ShakeHandsAsync(IHandshakeChannel channel, CancellationToken cancellationToken)
    {
        var hello = new PeerHello(
            _names.Cluster, _names.Shard, _names.Node, Node, new Guid(RandomNumberGenerator.GetBytes(16)));
        using ResponseFrame answer = await channel
            .InvokeAsync(Encode(hello), (byte)PeerOpcode.Hello, 0, cancellationToken).ConfigureAwait(false);
        PeerChallenge challenge = Read<PeerChallenge>(answer);
        if (!PeerSecret.Equal(challenge.Proof.Span, _secret.SignAnswer(hello, challenge.Nonce)))
        {
            throw new EQueueException(
                ErrorCode.AuthenticationFailed, $"{Address} has another secret (Cluster:SecretFile).");
        }

        var proof = new PeerProof(_secret.SignCall(hello, challenge.Nonce));
        using ResponseFrame taken = await channel
            .InvokeAsync(Encode(proof), (byte)PeerOpcode.Prove, 0, cancellationToken).ConfigureAwait(false);
        Demand(taken);
        _refusals = 0;
        _told.Clear();
        _first.TrySetResult();
    }

    /// <exception cref="EQueueException">The other node refused.</exception>
    private static void Demand(in ResponseFrame response)
    {
        if (response.Header.Error != 0)
            throw ErrorDetail.ToException((ErrorCode)response.Header.Error, response.PayloadSpan);
    }

    private static FrameBuffer Encode<T>(T payload)
        where T : IPayload<T>
    {
        var frame = FrameBuffer.Rent();
        payload.Write(new PayloadWriter(frame));
        return frame;
    }

    private T Read<T>(in ResponseFrame response)
        where T : IPayload<T>
    {
        Demand(response);
        return Payload.TryRead(response.PayloadSpan, out T value)
            ? value
            : throw new EQueueException(ErrorCode.NotABroker, $"{Address} is no node of a cluster.");
    }
}

/// <summary>Who a node is.</summary>
/// <param name="Cluster">The cluster's id.</param>
/// <param name="Shard">The shard's number.</param>
/// <param name="Node">The node's name.</param>
internal sealed record PeerNames(Guid Cluster, int Shard, string Node);

/// <summary>How nodes reach each other.</summary>
/// <param name="MaxFrameBytes">The longest frame: entries of one group, and a little.</param>
/// <param name="Tls">As clients use it; null without.</param>
internal sealed record PeerLinkOptions(int MaxFrameBytes, TlsOptions? Tls);
