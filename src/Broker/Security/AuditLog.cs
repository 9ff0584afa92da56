using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Writes down who did what; refusals at a bounded rate, counted beyond it.</summary>
/// <remarks>Thread-safe. Without a sink it only counts.</remarks>
internal sealed class AuditLog(IAuditSink? sink, BrokerCounters counters, TimeProvider time)
{
    /// <summary>Refusals that are written down per minute; the others are counted.</summary>
    public const int RefusalsPerMinute = 600;

    private readonly Lock _gate = new();
    private long _minute;
    private int _written;
    private long _passedOver;

    /// <summary>Whether anything is written.</summary>
    public bool IsOn => sink is not null;

    /// <summary>An operation was carried out.</summary>
    public void Done(BrokerConnection peer, Opcode operation, string resource, string detail) =>
        sink?.Write(Record(peer, operation, resource, ErrorCode.None, detail));

    /// <summary>An operation was not carried out: always told of who may ask for it, at a bounded rate of who may
    /// not.</summary>
    public void Refused(BrokerConnection peer, Opcode operation, string resource, EQueueException reason)
    {
        if (reason.Code == ErrorCode.NotAuthorized)
            Interlocked.Increment(ref counters.UnauthorizedRequests);
        if (sink is not null && (reason.Code != ErrorCode.NotAuthorized || MayWrite()))
            sink.Write(Record(peer, operation, resource, reason.Code, reason.Message));
    }

    /// <summary>Somebody was not admitted.</summary>
    public void LoginRefused(string address, string client, string principal, EQueueException reason)
    {
        Interlocked.Increment(ref counters.RefusedLogins);
        if (sink is not null && MayWrite())
        {
            sink.Write(new AuditRecord(
                time.GetUtcNow(), principal, address, client, "Login", "", reason.Code, reason.Message));
        }
    }

    private AuditRecord Record(
        BrokerConnection peer, Opcode operation, string resource, ErrorCode outcome, string detail) => new(
            time.GetUtcNow(),
            peer.Access?.Principal ?? "",
            peer.Transport.RemoteEndPoint?.ToString() ?? "",
            peer.Client?.Name ?? "",
            operation.ToString(),
            resource,
            outcome,
            detail);

    private bool MayWrite()
    {
        long minute = time.GetTimestamp() / (time.TimestampFrequency * 60);
        long passedOver;
        lock (_gate)
        {
            if (minute == _minute && _written >= RefusalsPerMinute)
            {
                _passedOver++;
                return false;
            }

            passedOver = minute == _minute ? 0 : _passedOver;
            (_passedOver, _written) = minute == _minute ? (_passedOver, _written + 1) : (0, 1);
            _minute = minute;
        }

        if (passedOver > 0)
        {
            sink!.Write(new AuditRecord(
                time.GetUtcNow(), "", "", "", "Refusals", "", ErrorCode.NotAuthorized,
                $"{passedOver} more refusals were not written down"));
        }

        return true;
    }
}
