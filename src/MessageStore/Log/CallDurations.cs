using System.Diagnostics;
using System.Diagnostics.Metrics;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>How long calls of one kind take, for a listener that wants to know; without one no clock is read. Used by
/// one thread at a time; any thread sets the listener.</summary>
/// <param name="logger">Is told of a listener that throws.</param>
internal sealed class CallDurations(ILogger logger)
{
    private Histogram<double>? _listener;

    /// <summary>Is told each call's seconds from now on.</summary>
    public void ReportTo(Histogram<double> listener) => Volatile.Write(ref _listener, listener);

    /// <returns>When the call begins; 0 = no listener wants to know how long it takes.</returns>
    public long Begin() => _listener is { Enabled: true } ? Stopwatch.GetTimestamp() : 0;

    /// <summary>The call has ended. A listener that throws must not end the log: it is told nothing more.</summary>
    public void End(long begun)
    {
        if (begun == 0)
            return;
        try
        {
            _listener?.Record(Stopwatch.GetElapsedTime(begun).TotalSeconds);
        }
        catch (Exception exception)
        {
            Volatile.Write(ref _listener, null);
            Log.ListenerThrew(logger, exception);
        }
    }
}
