using System.Diagnostics;
using System.Diagnostics.Metrics;

namespace EQueue.MessageStore;

/// <summary>How long writes and syncs take, for listeners. Without one no clock is read.</summary>
internal sealed partial class CommitLog
{
    private Histogram<double>? _writeDurations;
    private Histogram<double>? _syncDurations;

    public void ReportDurations(Histogram<double> writes, Histogram<double> syncs)
    {
        Volatile.Write(ref _writeDurations, writes);
        Volatile.Write(ref _syncDurations, syncs);
    }

    /// <returns>When it began; 0 = not measured.</returns>
    private static long BeginTiming(Histogram<double>? durations) =>
        durations is { Enabled: true } ? Stopwatch.GetTimestamp() : 0;

    /// <summary>A listener that throws must not end the log: it is told nothing more.</summary>
    private void EndTiming(ref Histogram<double>? durations, long begun)
    {
        if (begun == 0)
            return;
        try
        {
            durations?.Record(Stopwatch.GetElapsedTime(begun).TotalSeconds);
        }
        catch (Exception exception)
        {
            Volatile.Write(ref durations, null);
            Log.ListenerThrew(_logger, exception);
        }
    }
}
