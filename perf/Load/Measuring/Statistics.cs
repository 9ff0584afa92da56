namespace EQueue.Load.Measuring;

/// <summary>Figures over several runs.</summary>
internal static class Statistics
{
    public static double Median(IReadOnlyList<double> values)
    {
        double[] sorted = values.Order().ToArray();
        int middle = sorted.Length / 2;
        return sorted.Length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    /// <summary>(largest - smallest) / median; 0 for a single run.</summary>
    public static double Spread(IReadOnlyList<double> values)
    {
        double median = Median(values);
        return median == 0 ? 0 : (values.Max() - values.Min()) / median;
    }
}
