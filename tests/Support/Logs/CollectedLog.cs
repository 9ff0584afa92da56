using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting.Tests;

/// <summary>Keeps every log line, so that tests can ask for it, or for its absence.</summary>
internal sealed class CollectedLog : ILoggerFactory, ILogger
{
    private readonly ConcurrentQueue<Line> _lines = new();

    public IReadOnlyList<Line> Lines => [.. _lines];

    public int CountOf(int id) => _lines.Count(line => line.Id == id);

    public void AddProvider(ILoggerProvider provider)
    {
    }

    public ILogger CreateLogger(string categoryName) => this;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
        _lines.Enqueue(new Line(logLevel, eventId.Id, formatter(state, exception), exception));

    public void Dispose()
    {
    }

    internal sealed record Line(LogLevel Level, int Id, string Text, Exception? Exception);
}
