namespace EQueue.Load.Measuring;

/// <summary>
/// The rate over each <see cref="Window"/> messages in a row, as the ZeroMQ report defines throughput: for the n-th
/// message Window / (time of the n-th - time of the one Window before it).
/// </summary>
/// <remarks>One thread records; read when that is over.</remarks>
internal sealed class WindowRates
{
    /// <summary>Messages of a window.</summary>
    public const int Window = 100;

    private readonly List<long> _timesNs = [];

    /// <summary>The next message was sent, or has come.</summary>
    public void Record(long nowNs) => _timesNs.Add(nowNs);

    public void Clear() => _timesNs.Clear();

    /// <summary>The median over all windows, of two in the middle the lower; null without a window.</summary>
    public double? MedianPerSecond()
    {
        if (_timesNs.Count <= Window)
            return null;
        long[] spansNs = new long[_timesNs.Count - Window];
        for (int i = 0; i < spansNs.Length; i++)
            spansNs[i] = Math.Max(1, _timesNs[i + Window] - _timesNs[i]);
        Array.Sort(spansNs);

        // The longer of two spans in the middle is the lower of two rates.
        return Window * 1e9 / spansNs[spansNs.Length / 2];
    }
}
