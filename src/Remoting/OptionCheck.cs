namespace EQueue.Remoting;

/// <summary>Refuses settings out of range with a message that names them.</summary>
internal static class OptionCheck
{
    /// <summary>The largest frame that may be configured.</summary>
    public const int LargestFrameBytes = 1024 * 1024 * 1024;

    /// <summary>Timeouts are watched by a coarse timer and make no sense below this.</summary>
    public static readonly TimeSpan ShortestTimeout = TimeSpan.FromMilliseconds(100);

    /// <summary>The longest time that the timers can hold.</summary>
    private static readonly TimeSpan LongestTimeout = TimeSpan.FromDays(24);

    public static void Addresses(string setting, IReadOnlyList<string>? value)
    {
        if (value is null || value.Count == 0)
            throw new ArgumentException($"{setting} must name at least one HOST:PORT or unix:/path.", setting);
        foreach (string address in value)
        {
            if (!HostPort.TryParse(address, out _))
                throw new ArgumentException($"{setting} must be HOST:PORT or unix:/path, found '{address}'.", setting);
        }
    }

    public static void InRange(string setting, long value, long min, long max)
    {
        if (value < min || value > max)
            throw new ArgumentException($"{setting} must be {min}..{max}, found {value}.", setting);
    }

    public static void PowerOfTwo(string setting, int value)
    {
        if (!int.IsPow2(value))
            throw new ArgumentException($"{setting} must be a power of two, found {value}.", setting);
    }

    public static void AtLeast(string setting, TimeSpan value, TimeSpan min)
    {
        if (value < min || value > LongestTimeout)
            throw new ArgumentException($"{setting} must be {min}..{LongestTimeout}, found {value}.", setting);
    }
}
