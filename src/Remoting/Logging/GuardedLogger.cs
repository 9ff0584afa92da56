using Microsoft.Extensions.Logging;

namespace EQueue.Remoting;

/// <summary>A logger for what peers can cause: their text comes out printable, and of what comes too often only the
/// first is logged and the rest is counted.</summary>
/// <remarks>
/// <para>All that a room logs goes through one: no event needs care of its own. Within 10 s at most
/// <see cref="MostWarningsOfAnEvent"/> warnings and errors of one event id are logged and
/// <see cref="MostWarnings"/> of all, of information <see cref="MostOthersOfAnEvent"/> and <see cref="MostOthers"/>; a
/// line at the end says how many more there were, and from how many addresses. Debug and below, and critical events,
/// are all logged.</para>
/// <para>Thread-safe. Disposed, it logs what it has counted, and continues as before.</para>
/// </remarks>
/// <param name="logger">Where it all goes.</param>
/// <param name="time">Measures the 10 s.</param>
public sealed class GuardedLogger(ILogger logger, TimeProvider time) : ILogger, IDisposable
{
    /// <summary>Warnings and errors of one event id within 10 s.</summary>
    public const int MostWarningsOfAnEvent = 10;

    /// <summary>Warnings and errors within 10 s.</summary>
    public const int MostWarnings = 50;

    /// <summary>Information of one event id within 10 s.</summary>
    public const int MostOthersOfAnEvent = 200;

    /// <summary>Information within 10 s.</summary>
    public const int MostOthers = 1_000;

    private readonly EventCounts _counts = new(time);
    private ITimer? _timer;

    /// <summary>Whether what comes too often is counted; if not, all is logged.</summary>
    public bool IsCounting { get; init; } = true;

    /// <inheritdoc/>
    public bool IsEnabled(LogLevel logLevel) => logger.IsEnabled(logLevel);

    /// <inheritdoc/>
    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => logger.BeginScope(state);

    /// <inheritdoc/>
    public void Log<TState>(
        LogLevel logLevel,
        EventId eventId,
        TState state,
        Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        ArgumentNullException.ThrowIfNull(formatter);
        if (!logger.IsEnabled(logLevel))
            return;
        if (IsCounting && logLevel is (LogLevel.Information or LogLevel.Warning or LogLevel.Error))
        {
            bool passes = _counts.TryPass(
                logLevel, eventId.Id, state, out IReadOnlyList<EventCounts.HeldEvents> held, out bool isFirstHeld);
            LogHeld(held);
            if (isFirstHeld)
                StartTimer();
            if (!passes)
                return;
        }

        Exception? printable = PrintableException.Of(exception);
        string text = formatter(state, exception);
        if (ReferenceEquals(printable, exception) && PrintableText.Is(text))
        {
            logger.Log(logLevel, eventId, state, exception, formatter);
            return;
        }

        logger.Log(
            logLevel,
            eventId,
            new PrintableState(state, PrintableText.Of(text)),
            printable,
            static (state, _) => state.ToString());
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        Interlocked.Exchange(ref _timer, null)?.Dispose();
        LogHeld(_counts.EndWindow());
    }

    /// <summary>At the latest then the line comes: also when there is no further event.</summary>
    private void StartTimer()
    {
        ITimer timer = time.CreateTimer(
            static guard => ((GuardedLogger)guard!).Dispose(), this, EventCounts.Window, Timeout.InfiniteTimeSpan);
        Interlocked.Exchange(ref _timer, timer)?.Dispose();
    }

    private void LogHeld(IReadOnlyList<EventCounts.HeldEvents> held)
    {
        foreach (EventCounts.HeldEvents events in held)
        {
            if (events.Addresses > 0)
                Remoting.Log.HeldFrom(logger, events.Level, events.Times, events.Id, events.Addresses);
            else
                Remoting.Log.Held(logger, events.Level, events.Times, events.Id);
        }
    }
}
