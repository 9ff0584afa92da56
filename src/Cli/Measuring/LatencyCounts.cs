using System.Numerics;

namespace EQueue.Cli.Measuring;

/// <summary>Durations in microseconds, counted in steps of at most 3 %, in bounded memory.</summary>
/// <remarks>For one thread at a time.</remarks>
internal sealed class LatencyCounts
{
    private const int StepBits = 5;
    private const int Steps = 1 << StepBits;

    private readonly long[] _counts = new long[(64 - StepBits) * Steps];

    /// <summary>How many there are.</summary>
    public long Count { get; private set; }

    /// <summary>The longest, in microseconds.</summary>
    public long Max { get; private set; }

    public void Add(TimeSpan latency)
    {
        long microseconds = Math.Max(0, (long)latency.TotalMicroseconds);
        _counts[IndexOf(microseconds)]++;
        Count++;
        Max = Math.Max(Max, microseconds);
    }

    /// <summary>The microseconds that a share of all did not exceed, rounded up by at most 3 %.</summary>
    /// <param name="share">Above 0 to 1.</param>
    /// <returns>Null when there are none.</returns>
    public long? Find(double share)
    {
        if (Count == 0)
            return null;
        long wanted = Math.Max(1, (long)Math.Ceiling(share * Count));
        int index = -1;
        for (long seen = 0; seen < wanted;)
            seen += _counts[++index];
        return Math.Min(Max, HighestOf(index));
    }

    private static int IndexOf(long value)
    {
        if (value < Steps)
            return (int)value;
        int shift = BitOperations.Log2((ulong)value) - StepBits;
        return ((shift + 1) << StepBits) + (int)((value >> shift) - Steps);
    }

    private static long HighestOf(int index)
    {
        if (index < Steps)
            return index;
        int shift = (index >> StepBits) - 1;
        return ((((long)(index & (Steps - 1)) + Steps + 1) << shift) - 1);
    }
}
