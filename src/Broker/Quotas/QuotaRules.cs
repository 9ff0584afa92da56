using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Which quotas there may be.</summary>
internal static class QuotaRules
{
    /// <exception cref="EQueueException">InvalidArgument.</exception>
    public static void Check(Quota quota)
    {
        if (!Enum.IsDefined(quota.Kind))
            throw RequestRules.Invalid($"There is no quota of kind {(int)quota.Kind}.");
        bool isName = quota.Kind == QuotaKind.Topic
            ? NameRules.IsValid(quota.Name)
            : quota.Name.Length is >= 1 and <= NameRules.MaxLength && NameRules.IsText(quota.Name);
        if (!isName && quota.Name != Quota.Everybody)
        {
            throw RequestRules.Invalid(
                $"No {(quota.Kind == QuotaKind.Topic ? "topic" : "client")} can have the name of "
                + $"{quota.Name.Length} characters that the quota is for.");
        }

        if (long.Min(long.Min(quota.ProduceBytes, quota.FetchBytes), quota.Requests) < 0)
        {
            throw RequestRules.Invalid(
                $"Rates are 0 (no bound) or more; asked for {quota.ProduceBytes} and {quota.FetchBytes} bytes and "
                + $"{quota.Requests} requests per second.");
        }
    }
}
