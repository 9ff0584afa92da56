namespace EQueue.Broker;

/// <summary>Makes those wait who failed to prove who they are, by where they come from and by whom they say to
/// be.</summary>
/// <remarks>Thread-safe. After <see cref="FreeFailures"/> failures each further one doubles the wait. A quiet minute
/// forgets them. The waits of a name are short: a stranger must not lock its user out.</remarks>
internal sealed class LoginGuard(TimeProvider time)
{
    public const int FreeFailures = 5;

    /// <summary>Places and names that are remembered; beyond it the oldest are forgotten.</summary>
    private const int MostKept = 10_000;

    private static readonly TimeSpan LongestForAddress = TimeSpan.FromSeconds(32);
    private static readonly TimeSpan LongestForName = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan Memory = TimeSpan.FromMinutes(1);

    private readonly Lock _gate = new();
    private readonly Dictionary<string, Failures> _failures = new(StringComparer.Ordinal);

    /// <param name="address">Where the peer is.</param>
    /// <param name="name">Whom it says to be; null = it says nothing of that.</param>
    /// <exception cref="EQueueException">Throttled, with the time to wait: too many have failed.</exception>
    public void Check(string address, string? name)
    {
        lock (_gate)
        {
            TimeSpan wait = TimeSpan.Zero;
            foreach (string? key in (ReadOnlySpan<string?>)[AddressKey(address), NameKey(name)])
            {
                if (key is not null && _failures.TryGetValue(key, out Failures failures))
                    wait = TimeSpan.FromTicks(Math.Max(wait.Ticks, (failures.Until - Now).Ticks));
            }

            if (wait > TimeSpan.Zero)
            {
                throw new EQueueException(
                    ErrorCode.Throttled,
                    $"Too many logins failed: the next may be tried in {Math.Ceiling(wait.TotalSeconds)} s.")
                {
                    RetryAfter = wait,
                };
            }
        }
    }

    public void Failed(string address, string? name)
    {
        lock (_gate)
        {
            Fail(AddressKey(address), LongestForAddress);
            if (NameKey(name) is { } key)
                Fail(key, LongestForName);
        }
    }

    /// <summary>Forgets the failures of the name. Those of the address stay: one good account is no leave to try
    /// others.</summary>
    public void Succeeded(string name)
    {
        lock (_gate)
            _failures.Remove(NameKey(name)!);
    }

    private TimeSpan Now => time.GetElapsedTime(0);

    private static string AddressKey(string address) => "a" + address;

    private static string? NameKey(string? name) => name is null ? null : "n" + name;

    private void Fail(string key, TimeSpan longest)
    {
        TimeSpan now = Now;
        int count = _failures.TryGetValue(key, out Failures before) && now - before.Last < Memory
            ? before.Count + 1
            : 1;
        TimeSpan wait = count < FreeFailures
            ? TimeSpan.Zero
            : TimeSpan.FromSeconds(Math.Min(longest.TotalSeconds, Math.Pow(2, Math.Min(count - FreeFailures, 10))));
        if (_failures.Count >= MostKept && !_failures.ContainsKey(key))
            Forget(now);
        _failures[key] = new Failures(count, now, now + wait);
    }

    private void Forget(TimeSpan now)
    {
        string[] old = [.. _failures.Where(one => now - one.Value.Last >= Memory).Select(one => one.Key)];
        if (old.Length == 0)
            old = [.. _failures.OrderBy(one => one.Value.Last).Take(MostKept / 10).Select(one => one.Key)];
        foreach (string key in old)
            _failures.Remove(key);
    }

    private readonly record struct Failures(int Count, TimeSpan Last, TimeSpan Until);
}
