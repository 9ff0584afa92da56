using EQueue.Protocol;

namespace EQueue.Server.Http;

internal sealed record QuotaListBody(IReadOnlyList<QuotaBody> Quotas);

/// <summary>The routes of quotas.</summary>
internal static class QuotaRoutes
{
    private const string Quotas = "/api/v1/quotas";

    public static IReadOnlyList<ApiRoute> All { get; } =
    [
        ApiRoute.Of("GET", Quotas, "listQuotas", "Names the quotas", ListAsync),
        ApiRoute.Of<QuotaBody, QuotaBody>(
            "PUT", Quotas, "setQuota", "Sets the quota of a name in place of the one before", SetAsync),
        ApiRoute.OfDone("DELETE", Quotas, "removeQuota", "Removes the quota of a name", RemoveAsync) with
        {
            Query =
            [
                ApiParameter.Choice("kind", "Of whom", "client", "topic") with { IsRequired = true },
                ApiParameter.Text("name", "The client's name or the topic's, or *") with { IsRequired = true },
            ],
        },
    ];

    private static async Task<QuotaListBody> ListAsync(ApiCall call)
    {
        ListQuotasResponse list = await call.InvokeAsync(new ListQuotasRequest());
        return new QuotaListBody(
        [
            .. list.Quotas.Select(QuotaBody.Of),
        ]);
    }

    private static async Task<QuotaBody> SetAsync(ApiCall call, QuotaBody body)
    {
        await call.InvokeAsync(new SetQuotaRequest(body.ToQuota()));
        return body;
    }

    private static Task RemoveAsync(ApiCall call)
    {
        QuotaKind kind = call.Query("kind") switch
        {
            "client" => QuotaKind.Client,
            "topic" => QuotaKind.Topic,
            string other => throw ApiException.OfValue("kind", other, "client or topic"),
            null => throw ApiException.OfValue("kind", null, "client or topic"),
        };
        string name = call.Query("name") ?? throw ApiException.OfValue("name", null, "required");
        return call.InvokeAsync(new SetQuotaRequest(new Quota(kind, name, 0, 0, 0)));
    }
}
