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
        BrokerConnection peer, ListQuotasRequest request, CancellationToken cancellationToken) =>
        ValueTask.FromResult(new ListQuotasResponse(quotas.List()));
}
