using System.Numerics;

namespace EQueue.Load.Measuring;

/// <summary>
/// Counts of durations in log-linear buckets, after the idea of HDR histograms: exact below 256 ns, above it 128
/// buckets to every doubling, so that a percentile is at most 0.8 % above the true value; the maximum is exact.
/// </summary>
/// <remarks>Any thread may record. Percentiles are taken when recording is over.</remarks>
internal sealed class LatencyHistogram
{
    private const int SubBucketBits = 7;
    private const int SubBucketCount = 1 << SubBucketBits;
    private const int ExactCount = SubBucketCount * 2;

    /// <summary>The longest duration that is told apart: about 73 minutes; longer ones count there.</summary>
    private const int MaxBits = 42;

    private readonly long[] _counts = new long[ExactCount + ((MaxBits - SubBucketBits - 1) * SubBucketCount)];
    private long _max;

    public long Count => _counts.Sum();

    /// <summary>The longest duration recorded, nanoseconds.</summary>
    public long MaxNs => _max;

    /// <summary>A histogram that holds what travelled.</summary>
    public static LatencyHistogram From(LatencyCounts counts)
    {
        var histogram = new LatencyHistogram();
        histogram.Add(counts);
        return histogram;
    }

    /// <summary>Records one duration; a negative one (two clocks read at the same moment) counts as 0.</summary>
    public void Record(long durationNs)
    {
        long duration = Math.Max(0, durationNs);
        Interlocked.Increment(ref _counts[IndexOf(duration)]);
        long max = Volatile.Read(ref _max);
        while (duration > max)
        {
            long seen = Interlocked.CompareExchange(ref _max, duration, max);
            if (seen == max)
                break;
            max = seen;
        }
    }

    /// <summary>
    /// The smallest duration that at least <paramref name="percent"/> of the recorded ones do not exceed.
    /// </summary>
    /// <param name="percent">0 to 100, 0 excluded.</param>
    public long PercentileNs(double percent)
    {
        long wanted = Math.Max(1, (long)Math.Ceiling(Count * percent / 100));
        long seen = 0;
        for (int index = 0; index < _counts.Length; index++)
        {
            seen += _counts[index];
            if (seen >= wanted)
                return Math.Min(HighestOf(index), _max);
        }

        return _max;
    }

    public void Add(LatencyCounts other)
    {
        for (int i = 0; i < other.Buckets.Count; i++)
            _counts[other.Buckets[i]] += other.Counts[i];
        _max = Math.Max(_max, other.MaxNs);
    }

    public void Clear()
    {
        Array.Clear(_counts);
        _max = 0;
    }

    /// <summary>The filled buckets, to travel between processes.</summary>
    public LatencyCounts ToCounts()
    {
        int[] filled = Enumerable.Range(0, _counts.Length).Where(index => _counts[index] > 0).ToArray();
        return new LatencyCounts(filled, Array.ConvertAll(filled, index => _counts[index]), _max);
    }

    private static int IndexOf(long value)
    {
        if (value < ExactCount)
            return (int)value;
        if (value >= 1L << MaxBits)
            value = (1L << MaxBits) - 1;
        int shift = BitOperations.Log2((ulong)value) - SubBucketBits;
        return ((shift + 1) << SubBucketBits) + (int)(value >> shift) - SubBucketCount;
    }

    private static long HighestOf(int index)
    {
        if (index < ExactCount)
            return index;
        int shift = (index >> SubBucketBits) - 1;
        long mantissa = (long)((index & (SubBucketCount - 1)) + SubBucketCount);
        return ((mantissa + 1) << shift) - 1;
    }
}

/// <summary>A histogram's filled buckets.</summary>
internal sealed record LatencyCounts(IReadOnlyList<int> Buckets, IReadOnlyList<long> Counts, long MaxNs)
{
    public static LatencyCounts None { get; } = new([], [], 0);
}
