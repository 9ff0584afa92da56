using System.Security.Cryptography;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Replication;
using Microsoft.Extensions.Logging;

namespace EQueue.Cluster;

/// <summary>The port of a node: other nodes come here, clients are led to the engine or told who leads.</summary>
/// <remarks>Thread-safe.</remarks>
/// <param name="node">This node's name.</param>
/// <param name="secret">What the nodes know.</param>
/// <param name="door">Leads to the engine.</param>
/// <param name="board">Who leads.</param>
/// <param name="receive">Takes the messages of other nodes.</param>
/// <param name="serveFiles">Answers what a new replica asks for.</param>
/// <param name="logger">For refusals.</param>
internal sealed class NodeListener(
    string node,
    PeerSecret secret,
    EngineDoor door,
    LeaderBoard board,
    Action<string, PeerMessage> receive,
    Func<PeerOpcode, ReadOnlyMemory<byte>, FrameBuffer> serveFiles,
    ILogger logger) : IConnectionHandler
{
    /// <summary>Which cluster it is, and its nodes' names; null until etcd has told.</summary>
    public NodeIdentity? Identity { get; set; }

    /// <summary>Where others reach this node.</summary>
    public string OwnAddress { get; set; } = "";

    /// <inheritdoc/>
    public void OnConnected(FrameConnection connection) => connection.State = new Visitor();

    /// <inheritdoc/>
    public void OnDisconnected(FrameConnection connection, Exception? cause)
    {
        // Nothing is kept for visitors.
    }

    /// <inheritdoc/>
    public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        var visitor = (Visitor)connection.State!;
        if (visitor.IsProven)
            return OnPeerAsync(visitor, connection, header, payload);
        switch (header.Opcode)
        {
            case (byte)PeerOpcode.Hello when visitor.Hello is null:
                Greet(visitor, connection, header, payload.Span);
                return ValueTask.CompletedTask;
            case (byte)PeerOpcode.Prove when visitor.Hello is not null:
                Check(visitor, connection, header, payload.Span);
                return ValueTask.CompletedTask;
            case (byte)Opcode.WatchLeader when visitor.Hello is null:
                return WatchAsync(connection, header, payload);
            case (byte)Opcode.Hello when visitor is { Hello: null, IsWatching: false }:
                if (door.LetIn(connection) is { } engine)
                    return engine.OnFrameAsync(connection, header, payload);
                RefuseClient(connection, header);
                return ValueTask.CompletedTask;
            default:
                Refuse(connection, header, ErrorCode.HelloRequired, null);
                return ValueTask.CompletedTask;
        }
    }

    private async ValueTask OnPeerAsync(
        Visitor visitor, FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        switch ((PeerOpcode)header.Opcode)
        {
            case PeerOpcode.Message when PeerCodec.Read(payload.Span) is { } message && SaysWhoItIs(message, visitor):
                receive(visitor.Hello!.Node, message);
                break;
            case PeerOpcode.ListFiles or PeerOpcode.ReadFile:
                await AnswerFilesAsync(connection, header, payload).ConfigureAwait(false);
                break;
            default:
                Refuse(connection, header, ErrorCode.MalformedRequest, "This is no message of a node.");
                break;
        }
    }

    private async ValueTask AnswerFilesAsync(
        FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        try
        {
            await connection.WhenWritable().ConfigureAwait(false);
            FrameBuffer body = serveFiles((PeerOpcode)header.Opcode, payload);
            connection.Send(body, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0);
        }
        catch (EQueueException exception)
        {
            Answer(connection, header, new ErrorDetail(exception.Message, TimeSpan.Zero), exception.Code);
        }
    }

    private static bool SaysWhoItIs(PeerMessage message, Visitor visitor) => message switch
    {
        Fetch fetch => fetch.From.Node == visitor.Hello!.Node,
        Farewell farewell => farewell.From.Node == visitor.Hello!.Node,
        Ack ack => ack.From.Node == visitor.Hello!.Node,
        StateQuestion question => question.From.Node == visitor.Hello!.Node,
        StateReport report => report.From.Node == visitor.Hello!.Node,
        _ => true,
    };

    private void Greet(Visitor visitor, FrameConnection connection, in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!Payload.TryRead(payload, out PeerHello hello))
        {
            Refuse(connection, header, ErrorCode.NotAuthorized, "This is no node's greeting.");
            return;
        }

        if (!secret.Exists && !LoopbackPeer.IsOwner(connection.Place, connection.FindPeerUser()))
        {
            // Before it is told anything of the cluster.
            Refuse(
                connection, header, ErrorCode.NotAuthorized,
                "Nodes without a secret run under one user: give all of them one (Cluster:SecretFile).");
            return;
        }

        if (Identity is not { } identity)
        {
            // It calls again, and this node starts: no news to anybody.
            TurnAway(connection, header, ErrorCode.NotAuthorized, "This node has not read its cluster from etcd yet.");
            return;
        }

        string? trouble = hello.Cluster != identity.Cluster
            ? $"Node {node} is of cluster {identity.Cluster}, not {hello.Cluster}."
            : hello.Shard != identity.Shard ? $"Node {node} has shard {identity.Shard}, not {hello.Shard}."
            : hello.To != node ? $"This is node {node}, not {hello.To}: two nodes have one address."
            : hello.Node == node ? $"A node {node} runs here already."
            : !identity.Nodes.Contains(hello.Node) ? $"{hello.Node} is no node of this shard."
            : null;
        if (trouble is not null)
        {
            Refuse(connection, header, ErrorCode.NotAuthorized, trouble);
            return;
        }

        visitor.Hello = hello;
        visitor.Challenge = new Guid(RandomNumberGenerator.GetBytes(16));
        Answer(connection, header, new PeerChallenge(visitor.Challenge, secret.SignAnswer(hello, visitor.Challenge)));
    }

    private void Check(Visitor visitor, FrameConnection connection, in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        bool isRight = Payload.TryRead(payload, out PeerProof proof)
            && PeerSecret.Equal(proof.Proof.Span, secret.SignCall(visitor.Hello!, visitor.Challenge));
        if (!isRight)
        {
            Refuse(connection, header, ErrorCode.AuthenticationFailed, "Cluster:SecretFile holds another secret here.");
            return;
        }

        visitor.IsProven = true;
        connection.Admit();
        Answer(connection, header, Done.Value);
    }

    private async ValueTask WatchAsync(
        FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        if (!Payload.TryRead(payload.Span, out WatchLeaderRequest request))
        {
            Refuse(connection, header, ErrorCode.MalformedRequest, "This is no WatchLeader request.");
            return;
        }

        ((Visitor)connection.State!).IsWatching = true;
        TimeSpan wait = request.Wait < WatchLeaderRequest.MaxWait ? request.Wait : WatchLeaderRequest.MaxWait;
        // The peer is unknown: it stays in the lobby, as long as it asks.
        connection.Extend(wait);
        try
        {
            Answer(connection, header, await board
                .WatchAsync(request.Epoch, wait > TimeSpan.Zero ? wait : TimeSpan.Zero, connection.Closed)
                .ConfigureAwait(false));
        }
        catch (OperationCanceledException)
        {
            // The client has gone.
        }
    }

    private void RefuseClient(FrameConnection connection, in FrameHeader header)
    {
        WatchLeaderResponse known = board.Known;
        WatchLeaderResponse told = Unserving(known);
        string text = told.Leader.Length > 0 ? $"Node {node} does not lead: {told.Leader} does, in epoch {told.Epoch}."
            : known.Leader.Length > 0 ? $"Node {node} leads epoch {known.Epoch}, and opens its log: it serves soon."
            : $"Node {node} does not lead, and no leader is known yet.";
        var detail = new NotLeaderDetail(new ErrorDetail(text, TimeSpan.Zero), told);
        Answer(connection, header, detail, ErrorCode.NotLeader);
        connection.CloseAfterFlush();
    }

    /// <summary>One who leads and does not serve yet names no leader: clients wait a little and come again.</summary>
    private WatchLeaderResponse Unserving(WatchLeaderResponse known) =>
        known.Leader == OwnAddress ? known with { Leader = "" } : known;

    private void Refuse(FrameConnection connection, in FrameHeader header, ErrorCode error, string? why)
    {
        logger.PeerRefused(connection.RemoteEndPoint?.ToString(), why ?? ErrorCodes.Describe(error));
        TurnAway(connection, header, error, why);
    }

    private static void TurnAway(FrameConnection connection, in FrameHeader header, ErrorCode error, string? why)
    {
        Answer(connection, header, new ErrorDetail(why, TimeSpan.Zero), error);
        connection.CloseAfterFlush();
    }

    /// <summary>Sends an answer.</summary>
    internal static void Answer<T>(
        FrameConnection connection, in FrameHeader header, T value, ErrorCode error = ErrorCode.None)
        where T : IPayload<T>
    {
        if (header.IsOneway)
            return;
        var body = FrameBuffer.Rent();
        value.Write(new PayloadWriter(body));
        connection.Send(
            body, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, (ushort)error);
    }

    /// <summary>A connection that is not the engine's.</summary>
    private sealed class Visitor
    {
        public PeerHello? Hello { get; set; }

        public Guid Challenge { get; set; }

        public bool IsProven { get; set; }

        public bool IsWatching { get; set; }
    }
}

/// <summary>What etcd tells a node of its cluster.</summary>
/// <param name="Cluster">The cluster's id.</param>
/// <param name="Shard">The shard's number.</param>
/// <param name="Nodes">The names of its nodes.</param>
internal sealed record NodeIdentity(Guid Cluster, int Shard, IReadOnlyList<string> Nodes);
