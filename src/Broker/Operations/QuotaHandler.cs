using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>The operations on quotas.</summary>
internal sealed class QuotaHandler(QuotaTable quotas)
{
    public async ValueTask<Done> SetAsync(
        BrokerConnection peer, SetQuotaRequest request, CancellationToken cancellationToken)
    {
        await quotas.SetAsync(request.Quota, cancellationToken);
        return Done.Value;
    }

    public ValueTask<ListQuotasResponse> ListAsync(
        BrokerConnection peer, ListQuotasRequest request, CancellationToken cancellationToken)
    {
        var access = PeerAccess.Of(peer);
        return ValueTask.FromResult(new ListQuotasResponse([.. quotas.List().Where(quota => MaySee(access, quota))]));
    }

    /// <summary>Quotas are the broker's; one that names a topic is for those who may see the topic, or set
    /// quotas.</summary>
    private static bool MaySee(PeerAccess access, Quota quota) =>
        quota.Kind != QuotaKind.Topic
        || quota.Name == Quota.Everybody
        || access.May(Permission.Describe, ResourceKind.Topic, quota.Name)
        || access.May(Permission.Administer, ResourceKind.Broker, "");
}
