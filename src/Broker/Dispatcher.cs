using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Leads each frame to its operation.</summary>
/// <remarks>
/// Called by the receive loops of all connections. The <see cref="OperationTable"/> says what there is, and
/// <see cref="RequestAdmission"/> stands before each handler; Produce and Fetch go straight to theirs.
/// </remarks>
internal sealed class Dispatcher : IConnectionHandler
{
    private readonly ModuleContext _context;
    private readonly BrokerModules _modules;
    private readonly RequestAdmission _admission;
    private readonly OperationRow _unknown;

    public Dispatcher(ModuleContext context, BrokerModules modules)
    {
        (_context, _modules) = (context, modules);
        SecurityParts security = modules.Security;
        var facts = new AuditFacts(modules.Topics, modules.Quotas, security.Table);
        _admission = new RequestAdmission(context, modules.Quotas, security.Audit, facts);
        Operations = new OperationTable(context, modules, _admission);
        _unknown = new OperationRow(default, null, ResourceKind.Broker) { Handler = RefuseUnknownAsync };
    }

    public OperationTable Operations { get; }

    /// <inheritdoc/>
    public void OnConnected(FrameConnection connection)
    {
        connection.State = new BrokerConnection(connection, _context.Limits.MaxRequestsInFlight)
        {
            MaxFrameBytes = _context.Options.MaxFrameBytes,
        };
        Interlocked.Increment(ref _context.Counters.Connections);
        _context.Logger.ConnectionOpened(connection.Id, connection.RemoteEndPoint);
    }

    /// <inheritdoc/>
    public void OnDisconnected(FrameConnection connection, Exception? cause)
    {
        Interlocked.Decrement(ref _context.Counters.Connections);
        _modules.OnDisconnected((BrokerConnection)connection.State!);
        _context.Logger.ConnectionClosed(connection.Id, connection.RemoteEndPoint, cause?.Message);
    }

    /// <inheritdoc/>
    public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        var peer = (BrokerConnection)connection.State!;
        Interlocked.Increment(ref _context.Counters.Requests);
        if (peer.Client is null && header.Opcode != (byte)Opcode.Hello)
            return RefuseAndClose(peer, header, ErrorCode.HelloRequired, null);
        if (header.IsResponse)
        {
            return RefuseAndClose(
                peer, header, ErrorCode.MalformedRequest, "The broker asked nothing: an answer came.");
        }

        if (header.Version != 0 && header.Version > OperationVersions.Highest((Opcode)header.Opcode))
            return RefuseVersion(peer, header);

        switch ((Opcode)header.Opcode)
        {
            case Opcode.Produce:
                return _modules.Producing.HandleAsync(peer, header, payload);
            case Opcode.Fetch when !RequestAdmission.IsLong(payload):
                return _modules.Fetching.HandleAsync(peer, header, payload);
            default:
                OperationRow? row = Operations.Find((Opcode)header.Opcode);
                return _admission.PassAsync(peer, row?.Handler is null ? _unknown : row, header, payload);
        }
    }

    private ValueTask RefuseUnknownAsync(BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        Interlocked.Increment(ref _context.Counters.RefusedRequests);
        peer.Refuse(header, ErrorCode.UnknownOperation, $"There is no operation {header.Opcode}.");
        return ValueTask.CompletedTask;
    }

    private ValueTask RefuseVersion(BrokerConnection peer, in FrameHeader header)
    {
        Interlocked.Increment(ref _context.Counters.RefusedRequests);
        bool isKnown = Enum.IsDefined((Opcode)header.Opcode);
        peer.Refuse(
            header,
            isKnown ? ErrorCode.UnsupportedVersion : ErrorCode.UnknownOperation,
            isKnown
                ? $"Version {header.Version} of {(Opcode)header.Opcode} came; this broker speaks up to version "
                    + $"{OperationVersions.Highest((Opcode)header.Opcode)}."
                : $"There is no operation {header.Opcode}.");
        if (peer.Client is null)
            peer.Transport.CloseAfterFlush();
        return ValueTask.CompletedTask;
    }

    private ValueTask RefuseAndClose(BrokerConnection peer, in FrameHeader header, ErrorCode error, string? message)
    {
        Interlocked.Increment(ref _context.Counters.RefusedRequests);
        _context.Logger.ConnectionRefused(peer.Id, peer.Transport.RemoteEndPoint, error);
        peer.Refuse(header, error, message);
        peer.Transport.CloseAfterFlush();
        return ValueTask.CompletedTask;
    }
}
