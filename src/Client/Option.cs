namespace EQueue.Client;

/// <summary>Checks of option records, with messages that name the setting, its value and what is allowed.</summary>
internal static class Option
{
    public static void Require<T>(bool holds, string name, T value, string allowed)
    {
        if (!holds)
            throw new ArgumentException($"{name} is {value}: it must be {allowed}.", name);
    }

    /// <summary>Checks how long something may take to close.</summary>
    /// <exception cref="ArgumentOutOfRangeException">Below zero, or more than 20 days.</exception>
    public static void CheckCloseTimeout(TimeSpan timeout)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(timeout, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(timeout, TimeSpan.FromDays(20));
    }

    public static void RequireAtLeast(TimeSpan value, TimeSpan least, string name) =>
        Require(value >= least && value <= TimeSpan.FromDays(20), name, value, $"{least} or more and at most 20 days");
}
