using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Writes down who did what; refusals at a bounded rate, counted beyond it.</summary>
/// <remarks>Thread-safe. Without a sink it only counts.</remarks>
internal sealed class AuditLog(IAuditSink? sink, BrokerCounters counters, TimeProvider time)
{
    /// <summary>Refusals that are written down per minute, of logins and of operations each; the others are
    /// counted.</summary>
    public const int RefusalsPerMinute = 600;

    private readonly MinuteBound _logins = new(RefusalsPerMinute, time);
    private readonly MinuteBound _operations = new(RefusalsPerMinute, time);

    /// <summary>Whether anything is written.</summary>
    public bool IsOn => sink is not null;

    /// <summary>Lines that the sink did not write and will not.</summary>
    public long Lost => sink?.Lost ?? 0;

    /// <summary>An operation was carried out.</summary>
    public void Done(ClientIdentity client, Opcode operation, string resource, string detail) =>
        sink?.Write(Record(client, operation, resource, ErrorCode.None, detail));

    /// <summary>An operation that the peer may ask for was not carried out, or not whole.</summary>
    public void Failed(ClientIdentity client, Opcode operation, string resource, ErrorCode outcome, string detail) =>
        sink?.Write(Record(client, operation, resource, outcome, detail));

    /// <summary>A peer asked for what no rule allows it.</summary>
    /// <param name="client">The peer.</param>
    /// <param name="operation">What it asked for.</param>
    /// <param name="permission">The right that it lacks.</param>
    /// <param name="resource">To what kind of thing.</param>
    /// <param name="name">Its name.</param>
    /// <param name="subject">What the operation is about; null = the thing itself.</param>
    public void Unauthorized(
        ClientIdentity client,
        Opcode operation,
        Permission permission,
        ResourceKind resource,
        string name,
        string? subject)
    {
        Interlocked.Increment(ref counters.UnauthorizedRequests);
        if (sink is null || !MayWrite(_operations))
            return;
        string about = subject ?? (resource == ResourceKind.Broker ? "" : AccessRule.TextOf(resource, name));
        string reason = SecurityTable.Refusal(client.Principal, permission, resource, name).Message;
        sink.Write(Record(client, operation, about, ErrorCode.NotAuthorized, reason));
    }

    /// <summary>A peer was not admitted.</summary>
    public void LoginRefused(string address, string client, string principal, EQueueException reason)
    {
        Interlocked.Increment(ref counters.RefusedLogins);
        if (sink is not null && MayWrite(_logins))
        {
            sink.Write(new AuditRecord(
                time.GetUtcNow(), principal, address, client, "Login", "", reason.Code, reason.Message));
        }
    }

    private AuditRecord Record(
        ClientIdentity client, Opcode operation, string resource, ErrorCode outcome, string detail) => new(
            time.GetUtcNow(),
            client.Principal,
            client.Address,
            client.Name,
            operation.ToString(),
            resource,
            outcome,
            detail);

    /// <summary>Whether one more refusal is written down; tells first how many were not.</summary>
    private bool MayWrite(MinuteBound bound)
    {
        if (!bound.TryTake(out long passedOver))
            return false;
        if (passedOver > 0)
        {
            sink!.Write(new AuditRecord(
                time.GetUtcNow(), "", "", "", "Refusals", "", ErrorCode.NotAuthorized,
                $"{passedOver} more refusals were not written down"));
        }

        return true;
    }
}
