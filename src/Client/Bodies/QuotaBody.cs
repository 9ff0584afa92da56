using System.ComponentModel;

namespace EQueue.Client;

/// <summary>Of whom a quota is.</summary>
internal enum QuotaOwner
{
    /// <summary>All connections with one client name.</summary>
    Client = 1,

    /// <summary>All who send to a topic or read it.</summary>
    Topic = 2,
}

/// <summary>A quota, as JSON.</summary>
internal sealed record QuotaBody(
    [property: Description("Of whom")] QuotaOwner Kind,
    [property: Description("The client's name or the topic's; *: each that has none of its own")] string Name,
    [property: Description("0: no bound")] long ProduceBytesPerSecond = 0,
    [property: Description("0: no bound")] long FetchBytesPerSecond = 0,
    [property: Description("0: no bound")] long RequestsPerSecond = 0)
{
    public static QuotaBody Of(Quota quota) =>
        new((QuotaOwner)quota.Kind, quota.Name, quota.ProduceBytes, quota.FetchBytes, quota.Requests);

    public Quota ToQuota() =>
        new((QuotaKind)Kind, Name, ProduceBytesPerSecond, FetchBytesPerSecond, RequestsPerSecond);
}
