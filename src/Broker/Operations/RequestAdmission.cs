using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>What every request passes before its handler, in this order: memory for a long one, the right that its row
/// of the <see cref="OperationTable"/> names, the audit log. Behind it its client's quota is charged.</summary>
/// <remarks>
/// On the receive loop of the request's connection. Produce and Fetch take no time here: their handlers ask for the
/// rights of topics and charge quotas themselves, once for each batch and queue.
/// </remarks>
internal sealed class RequestAdmission(ModuleContext context, QuotaTable quotas, AuditLog audit, AuditFacts facts)
{
    /// <summary>Requests below it are handled at once, whatever memory there is.</summary>
    private const int LongRequestBytes = 16 << 10;

    /// <summary>What a long request takes when it is read into objects, at most: so many times its bytes.</summary>
    private const int ObjectFactor = 12;

    /// <summary>Leads a request to the handler of its row.</summary>
    public ValueTask PassAsync(
        BrokerConnection peer, OperationRow row, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        OperationHandler handler = row.Handler!;
        ValueTask handling = IsLong(payload)
            ? WithMemoryAsync(peer, header, payload, handler)
            : handler(peer, header, payload);
        return row.Quota == QuotaClass.Request
            ? quotas.Throttle.PauseAsync(peer, handling, quotas.ChargeRequest(peer))
            : handling;
    }

    /// <summary>Whether a request may take much when it is read into objects.</summary>
    public static bool IsLong(ReadOnlyMemory<byte> payload) => payload.Length >= LongRequestBytes;

    /// <summary>Handles a long request when there is memory for it.</summary>
    public async ValueTask WithMemoryAsync(
        BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload, OperationHandler handler)
    {
        MemoryPool requests = context.Ledger.Requests;
        long bytes = (long)payload.Length * ObjectFactor;
        await requests.TakeAsync(bytes, peer.Closed);
        try
        {
            await handler(peer, header, payload);
        }
        finally
        {
            requests.Give(bytes);
        }
    }

    /// <summary>An operation that is not on the hot path: the whole request in, what the table says of it checked, the
    /// whole answer out, exceptions to typed answers, and written down what was administered.</summary>
    public async ValueTask HandleAsync<TRequest, TResponse>(
        OperationRow row,
        Func<BrokerConnection, TRequest, CancellationToken, ValueTask<TResponse>> handler,
        BrokerConnection peer,
        FrameHeader header,
        ReadOnlyMemory<byte> payload)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        string resource = "";
        try
        {
            if (!Payload.TryRead(payload.Span, out TRequest request))
                throw RequestRules.Malformed(payload, row.Opcode);
            bool isAudited = row.IsAudited && audit.IsOn;
            resource = row.ResourceOf(request);
            row.Check(PeerAccess.Of(peer), request, resource);
            string before = isAudited ? facts.Tell(request) : "";
            TResponse response = await handler(peer, request, peer.Closed);
            if (isAudited)
                audit.Done(peer.Client!, row.Opcode, resource, facts.Compare(before, request, response));
            if (!header.IsOneway)
                peer.Answer(header, response);
        }
        catch (OperationCanceledException) when (peer.IsClosed)
        {
            // No peer is left to be answered.
            if (row.IsAudited)
            {
                audit.Failed(
                    peer.Client!, row.Opcode, resource, ErrorCode.ConnectionLost,
                    "The peer went before it was done; a part of it may be.");
            }
        }
        catch (Exception exception)
        {
            // What no rule allows is written down where it is decided.
            if (row.IsAudited && FailureAnswers.CodeOf(exception) is var code and not ErrorCode.NotAuthorized)
                audit.Failed(peer.Client!, row.Opcode, resource, code, exception.Message);
            context.Failures.Answer(peer, header, exception);
        }
    }
}
