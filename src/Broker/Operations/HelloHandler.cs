using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Greets connections: versions, limits, who is who.</summary>
internal sealed class HelloHandler(ModuleContext context, SecurityParts security)
{
    /// <summary>Batches per producer and queue that the store remembers.</summary>
    public const ushort SequenceWindow = 16;

    private const uint SmallestFrameBytes = 64 << 10;

    private readonly QueueStore _store = context.Store;
    private readonly BrokerOptions _options = context.Options;

    private static readonly string BrokerVersion =
        "EQueue.Broker/" + SoftwareVersion.Of(typeof(HelloHandler).Assembly);

    /// <summary>Opens the connection, step by step; a refused one is closed.</summary>
    public ValueTask HandleAsync(BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        try
        {
            if (!Payload.TryRead(payload.Span, out HelloRequest request))
                throw RequestRules.Malformed(payload, Opcode.Hello);
            AuthenticatedHello answer = Handle(peer, request, header.Version);
            if (header.IsOneway)
                return ValueTask.CompletedTask;
            if (header.Version == OperationVersions.Authenticated)
                peer.Answer(header, answer);
            else
                peer.Answer(header, answer.Hello);
        }
        catch (Exception exception)
        {
            context.Failures.Answer(peer, header, exception);
            if (peer.Client is null)
                peer.Transport.CloseAfterFlush();
        }

        return ValueTask.CompletedTask;
    }

    /// <summary>Takes a Hello, or a further step of its mechanism.</summary>
    /// <returns>The answer; not done: the peer is to say Hello again.</returns>
    /// <exception cref="EQueueException">The peer is not admitted, and why.</exception>
    private AuthenticatedHello Handle(BrokerConnection peer, HelloRequest request, byte version)
    {
        Check(peer, request);
        if (version < OperationVersions.Authenticated && request.Mechanism == Mechanisms.ScramSha256)
        {
            throw new EQueueException(
                ErrorCode.UnsupportedVersion,
                $"{Mechanisms.ScramSha256} takes Hello of version {OperationVersions.Authenticated}.");
        }

        LoginStep step = security.Authenticator.Step(peer, request);
        if (step.Credential is not { } credential)
        {
            // Strangers are told no more than what the next step takes.
            var limits = new HelloResponse
            {
                Version = HelloRequest.ProtocolVersion,
                MaxFrameBytes = (uint)Math.Min(_options.MaxFrameBytes, _store.MaxRequestBytes),
            };
            return new AuthenticatedHello(limits, IsDone: false, step.Challenge, "");
        }

        peer.MaxFrameBytes = (int)Math.Min(request.MaxFrameBytes, (uint)_options.MaxFrameBytes);
        string address = credential.Address ?? peer.Transport.RemoteEndPoint?.ToString() ?? "";
        var client = new ClientIdentity(request.ClientName, credential.Principal, address);
        peer.Keep(security.AccessOf(client));
        peer.Admit(client);
        security.Peers.Add(peer, credential);
        return new AuthenticatedHello(Answer(), IsDone: true, step.Challenge, credential.Principal);
    }

    private static void Check(BrokerConnection peer, HelloRequest request)
    {
        if (peer.Client is not null)
            throw new EQueueException(ErrorCode.MalformedRequest, "This connection said Hello before.");
        if (request.MinVersion > HelloRequest.ProtocolVersion || request.MaxVersion < HelloRequest.ProtocolVersion)
        {
            throw new EQueueException(
                ErrorCode.UnsupportedVersion,
                $"The client speaks protocol {request.MinVersion} to {request.MaxVersion}, "
                + $"this broker {HelloRequest.ProtocolVersion}.");
        }

        if (request.Tenant.Length != 0)
        {
            throw new EQueueException(
                ErrorCode.NotAuthorized, $"This broker has no tenant '{Shorten(request.Tenant)}'.");
        }

        if (request.ClientName.Length > NameRules.MaxLength || request.ClientVersion.Length > NameRules.MaxLength)
            throw RequestRules.Invalid($"A client's name and version have at most {NameRules.MaxLength} characters.");
        RequestRules.CheckText(request.ClientName, "client's name");
        RequestRules.CheckText(request.ClientVersion, "client's version");
        if (request.MaxFrameBytes < SmallestFrameBytes)
        {
            throw RequestRules.Invalid(
                $"A client takes frames of {SmallestFrameBytes} bytes or more; it said {request.MaxFrameBytes}.");
        }
    }

    private HelloResponse Answer() => new()
    {
        Version = HelloRequest.ProtocolVersion,
        Features = context.IsNode ? HelloFeatures.Cluster : 0,
        Operations = OperationVersions.All,
        StoreId = _store.StoreId,
        BrokerId = _store.StoreId,
        Incarnation = (ulong)_store.Epoch,
        BrokerVersion = BrokerVersion,
        MaxFrameBytes = (uint)Math.Min(_options.MaxFrameBytes, _store.MaxRequestBytes),
        MaxMessageBytes = (uint)_options.Limits.MaxMessageBytes,
        MaxBatchBytes = (uint)_options.Store.MaxBatchBytes,
        SequenceWindow = SequenceWindow,
        ServerTimeMs = context.Time.GetUtcNow().ToUnixTimeMilliseconds(),
    };

    private static string Shorten(string text) => text.Length <= 64 ? text : text[..64];
}
