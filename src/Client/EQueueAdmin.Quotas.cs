using EQueue.Protocol;

namespace EQueue.Client;

/// <content>Quotas: how fast clients and topics may go.</content>
public sealed partial class EQueueAdmin
{
    /// <summary>Sets the quota of a client or a topic at each broker, in place of the one it had; one that bounds
    /// nothing removes it. It holds when the task completes.</summary>
    /// <exception cref="EQueueException">InvalidArgument, LimitReached, StorageFull.</exception>
    public async ValueTask SetQuotaAsync(Quota quota, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(quota);
        await _calls.InvokeEachAsync<SetQuotaRequest, Done>(
            _ => new SetQuotaRequest(quota), [], cancellationToken).ConfigureAwait(false);
    }

    /// <summary>All quotas, those of clients first, each kind by name; as the first broker that answers has
    /// them.</summary>
    public async ValueTask<IReadOnlyList<Quota>> ListQuotasAsync(CancellationToken cancellationToken = default) =>
        (await _calls.InvokeAsync(new ListQuotasRequest(), cancellationToken).ConfigureAwait(false)).Quotas;
}
