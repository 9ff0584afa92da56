namespace EQueue.Server.Telemetry;

/// <summary>A histogram: how many values were at most each bound, how many there were, and their sum.</summary>
/// <param name="bounds">Rising; one bucket more is for what is above all.</param>
internal sealed class Distribution(double[] bounds)
{
    private readonly long[] _counts = new long[bounds.Length + 1];

    public IReadOnlyList<double> Bounds => bounds;

    /// <summary>Values in each bucket alone; the last is above all bounds.</summary>
    public IReadOnlyList<long> Counts => _counts;

    public double Sum { get; private set; }

    public void Add(double value)
    {
        int bucket = Array.BinarySearch(bounds, value);
        _counts[bucket < 0 ? ~bucket : bucket]++;
        Sum += value;
    }

    public Distribution Copy()
    {
        var copy = new Distribution(bounds) { Sum = Sum };
        _counts.CopyTo(copy._counts, 0);
        return copy;
    }
}
