using System.Diagnostics;

namespace EQueue.Load.Measuring;

/// <summary>The monotonic clock that all processes of one machine share.</summary>
internal static class Clock
{
    private static readonly double NsPerTick = 1e9 / Stopwatch.Frequency;

    /// <summary>Nanoseconds since some moment before the run.</summary>
    public static long NowNs => Stopwatch.Frequency == 1_000_000_000
        ? Stopwatch.GetTimestamp()
        : (long)(Stopwatch.GetTimestamp() * NsPerTick);
}
