using Microsoft.Extensions.Logging;

namespace EQueue.Cli.Consuming;

/// <summary>Says on standard error which messages a reader passes over because they cannot be read.
/// Thread-safe.</summary>
/// <remarks>The client library tells it as it tells every application: by its log.</remarks>
internal sealed class SkipRemarks(TextWriter error) : ILoggerFactory, ILogger
{
    /// <summary>The client library's word on messages that it passes over.</summary>
    public const string EventName = "DamageSkipped";

    private readonly Lock _gate = new();
    private int _count;

    /// <summary>Stretches that were passed over.</summary>
    public int Count => Volatile.Read(ref _count);

    public ILogger CreateLogger(string categoryName) => this;

    public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Error;

    public void Log<TState>(
        LogLevel logLevel,
        EventId eventId,
        TState state,
        Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        if (eventId.Name != EventName)
            return;
        lock (_gate)
        {
            _count++;
            error.WriteLine($"equeue: {formatter(state, exception)}");
        }
    }

    /// <summary>After everything that can be read: whether something could not be.</summary>
    /// <exception cref="PartlyDoneException">Something was passed over.</exception>
    public void Conclude() => Conclude(Count);

    /// <exception cref="PartlyDoneException">Something was passed over.</exception>
    public static void Conclude(int count)
    {
        if (count == 0)
            return;
        string places = count == 1 ? "one place" : $"{count} places";
        string message = $"messages in {places} could not be read and were passed over; see above";
        throw new PartlyDoneException(message, new EQueueException(ErrorCode.DamagedData, message));
    }

    IDisposable? ILogger.BeginScope<TState>(TState state) => null;

    void ILoggerFactory.AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    void IDisposable.Dispose()
    {
        // Nothing is held; the writer is the caller's.
    }
}
