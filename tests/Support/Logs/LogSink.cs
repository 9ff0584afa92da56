using Microsoft.Extensions.Logging;

namespace EQueue.Support;

/// <summary>A logger, its factory and its provider in one: what is logged comes to one method, on the thread that logs.
/// </summary>
/// <param name="least">What is below this level is not wanted.</param>
public abstract class LogSink(LogLevel least = LogLevel.Trace) : ILogger, ILoggerFactory, ILoggerProvider
{
    public ILogger CreateLogger(string categoryName) => this;

    /// <summary>Nothing: what it has seen outlives whoever logged it.</summary>
    public void Dispose() => GC.SuppressFinalize(this);

    public bool IsEnabled(LogLevel logLevel) => logLevel >= least;

    IDisposable? ILogger.BeginScope<TState>(TState state) => null;

    void ILogger.Log<TState>(
        LogLevel logLevel,
        EventId eventId,
        TState state,
        Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        if (IsEnabled(logLevel))
            OnLine(new LogLine(logLevel, eventId.Id, formatter(state, exception), exception));
    }

    void ILoggerFactory.AddProvider(ILoggerProvider provider)
    {
        // There is only this one.
    }

    /// <summary>Something was logged. Any thread.</summary>
    protected abstract void OnLine(LogLine line);
}
