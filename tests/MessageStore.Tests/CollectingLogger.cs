using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore.Tests;

/// <summary>Keeps what is logged.</summary>
internal sealed class CollectingLogger : ILogger, ILoggerFactory
{
    public ConcurrentQueue<string> Lines { get; } = new();

    public ILogger CreateLogger(string categoryName) => this;

    public void AddProvider(ILoggerProvider provider)
    {
        // There is only this one.
    }

    public void Dispose()
    {
        // Its lines outlive the store.
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
        Lines.Enqueue(formatter(state, exception));
}
