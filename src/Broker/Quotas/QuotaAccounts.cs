namespace EQueue.Broker;

/// <summary>The accounts of one client or topic; null where its quota bounds nothing.</summary>
internal sealed class QuotaAccounts(Quota quota, TimeProvider time)
{
    public RateAccount? Produce { get; } = Make(quota.ProduceBytes, time);

    public RateAccount? Fetch { get; } = Make(quota.FetchBytes, time);

    public RateAccount? Requests { get; } = Make(quota.Requests, time);

    /// <summary>Whether new ones would say the same.</summary>
    public bool IsIdle => Produce is null or { IsIdle: true } && Fetch is null or { IsIdle: true }
        && Requests is null or { IsIdle: true };

    /// <summary>Charges a request, or a batch, that brings messages.</summary>
    public TimeSpan ChargeProduce(int bytes) =>
        Max(Produce?.Charge(bytes) ?? TimeSpan.Zero, ChargeRequest());

    public TimeSpan ChargeRequest() => Requests?.Charge(1) ?? TimeSpan.Zero;

    /// <summary>How long until entries may be given again.</summary>
    public TimeSpan FetchDebt => Max(Fetch?.Debt ?? TimeSpan.Zero, Requests?.Debt ?? TimeSpan.Zero);

    /// <summary>The later of two.</summary>
    public static TimeSpan Max(TimeSpan one, TimeSpan other) => one > other ? one : other;

    private static RateAccount? Make(long perSecond, TimeProvider time) =>
        perSecond > 0 ? new RateAccount(perSecond, time) : null;
}
