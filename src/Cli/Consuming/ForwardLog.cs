using EQueue.Cli.Output;
using Microsoft.Extensions.Logging;

namespace EQueue.Cli.Consuming;

/// <summary>
/// What people may want to know meanwhile, on standard error: warnings of the client library, remarks, and on a
/// terminal a line of progress that is written over itself. Thread-safe.
/// </summary>
/// <param name="error">Standard error past the escapes of a terminal: what is said is escaped here.</param>
/// <param name="isTerminal">Whether progress is shown.</param>
/// <param name="time">The clock.</param>
internal sealed class ForwardLog(TextWriter error, bool isTerminal, TimeProvider time) : ILoggerFactory, ILogger
{
    /// <summary>A warning is not said again within this time.</summary>
    private static readonly TimeSpan Repeat = TimeSpan.FromSeconds(10);

    /// <summary>Different warnings that are remembered.</summary>
    private const int MaxWarnings = 1_000;

    /// <summary>The client library's word on each batch that was not stored; the command's error tells why.</summary>
    private const string BatchFailed = nameof(BatchFailed);

    /// <summary>Back to the line's begin, and the rest of it erased.</summary>
    private const string Erase = "\r\u001b[K";

    private readonly Lock _gate = new();
    private readonly Dictionary<string, long> _warnedAt = new(StringComparer.Ordinal);
    private bool _hasProgress;
    private int _skippedCount;

    /// <summary>Stretches of messages that could not be read and were passed over.</summary>
    public int SkippedCount => Volatile.Read(ref _skippedCount);

    /// <summary>Whether progress is shown.</summary>
    public bool ShowsProgress => isTerminal;

    public void Write(string remark)
    {
        lock (_gate)
        {
            EraseProgress();
            error.WriteLine(TerminalText.OneLine($"equeue: {remark}"));
        }
    }

    public void ShowProgress(string text)
    {
        lock (_gate)
        {
            error.Write(Erase + TerminalText.OneLine(text));
            error.Flush();
            _hasProgress = true;
        }
    }

    /// <summary>No progress any more.</summary>
    public void EndProgress()
    {
        lock (_gate)
            EraseProgress();
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
        if (!IsEnabled(logLevel) || eventId.Name == BatchFailed)
            return;
        if (eventId.Name == SkipRemarks.EventName)
            Interlocked.Increment(ref _skippedCount);
        string text = formatter(state, exception);
        if (IsNew(text))
            Write(text);
    }

    IDisposable? ILogger.BeginScope<TState>(TState state) => null;

    void ILoggerFactory.AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    void IDisposable.Dispose() => EndProgress();

    private bool IsNew(string warning)
    {
        lock (_gate)
        {
            if (_warnedAt.TryGetValue(warning, out long at) && time.GetElapsedTime(at) < Repeat)
                return false;
            if (_warnedAt.Count >= MaxWarnings)
                _warnedAt.Clear();
            _warnedAt[warning] = time.GetTimestamp();
            return true;
        }
    }

    private void EraseProgress()
    {
        if (_hasProgress)
            error.Write(Erase);
        _hasProgress = false;
    }
}
