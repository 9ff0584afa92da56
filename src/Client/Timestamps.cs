namespace EQueue.Client;

/// <summary>Times in the units of a clock's timestamps.</summary>
internal static class Timestamps
{
    public static long TicksOf(this TimeProvider time, TimeSpan span) =>
        (long)(span.TotalSeconds * time.TimestampFrequency);

    /// <summary>The timestamp so long from now.</summary>
    public static long After(this TimeProvider time, TimeSpan span) => time.GetTimestamp() + time.TicksOf(span);
}
