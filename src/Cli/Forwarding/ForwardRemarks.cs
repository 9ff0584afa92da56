using Microsoft.Extensions.Logging;

namespace EQueue.Cli.Forwarding;

/// <summary>
/// What people may want to know meanwhile, on standard error: warnings of the client library, remarks, and on a
/// terminal a line of progress that is written over itself. Thread-safe.
/// </summary>
internal sealed class ForwardRemarks(TextWriter error, bool isTerminal) : ILoggerFactory, ILogger
{
    /// <summary>Back to the line's begin, and the rest of it erased.</summary>
    private const string Erase = "\r\u001b[K";

    private readonly Lock _gate = new();
    private bool _hasProgress;

    /// <summary>Whether progress is shown.</summary>
    public bool ShowsProgress => isTerminal;

    public void Write(string remark)
    {
        lock (_gate)
        {
            EraseProgress();
            error.WriteLine($"equeue: {remark}");
        }
    }

    public void ShowProgress(string text)
    {
        lock (_gate)
        {
            error.Write(Erase + text);
            error.Flush();
            _hasProgress = true;
        }
    }

    /// <summary>No progress any more.</summary>
    public void EndProgress()
    {
        lock (_gate) EraseProgress();
    }

    public ILogger CreateLogger(string categoryName) => this;

    public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Warning;

    public void Log<TState>(
        LogLevel logLevel,
        EventId eventId,
        TState state,
        Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        if (IsEnabled(logLevel)) Write(formatter(state, exception));
    }

    IDisposable? ILogger.BeginScope<TState>(TState state) => null;

    void ILoggerFactory.AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    void IDisposable.Dispose() => EndProgress();

    private void EraseProgress()
    {
        if (_hasProgress) error.Write(Erase);
        _hasProgress = false;
    }
}
