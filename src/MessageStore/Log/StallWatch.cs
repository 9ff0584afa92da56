using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Notices that the disk does not finish a write or an fdatasync: the threads that called hang with
/// it.</summary>
/// <remarks>Begin and end are noted by the writer and the flusher of a log, each for itself; a timer looks.</remarks>
internal sealed class StallWatch : IDisposable
{
    private readonly string _directory;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private readonly ITimer _timer;
    private long _writeBegan;
    private long _syncBegan;
    private bool _isStalled;
    private TimeSpan _longest;

    public StallWatch(string directory, TimeProvider time, ILogger logger)
    {
        (_directory, _time, _logger) = (directory, time, logger);
        _timer = time.CreateTimer(static watch => ((StallWatch)watch!).Look(), this, Interval, Interval);
    }

    /// <summary>A call under way for so long hangs.</summary>
    public static TimeSpan Patience => TimeSpan.FromSeconds(5);

    /// <summary>Whether one does.</summary>
    public bool IsStalled => OldestAge >= Patience;

    /// <summary>How long the oldest call under way has lasted; zero when there is none.</summary>
    public TimeSpan OldestAge
    {
        get
        {
            TimeSpan write = AgeOf(ref _writeBegan), sync = AgeOf(ref _syncBegan);
            return write > sync ? write : sync;
        }
    }

    private static TimeSpan Interval => TimeSpan.FromSeconds(1);

    /// <summary>Never 0, which says that no call is under way.</summary>
    private long Now => _time.GetTimestamp() | 1;

    public void BeginWrite() => Volatile.Write(ref _writeBegan, Now);

    public void EndWrite() => Volatile.Write(ref _writeBegan, 0);

    public void BeginSync() => Volatile.Write(ref _syncBegan, Now);

    public void EndSync() => Volatile.Write(ref _syncBegan, 0);

    public void Dispose() => _timer.Dispose();

    /// <summary>Says once that a call hangs, and once that it has ended.</summary>
    public void Look()
    {
        TimeSpan age = OldestAge;
        if (age >= Patience)
        {
            if (!_isStalled)
                Log.DiskStalled(_logger, AgeOf(ref _writeBegan) >= Patience ? "write" : "fdatasync", _directory, age);
            (_isStalled, _longest) = (true, age);
        }
        else if (_isStalled)
        {
            _isStalled = false;
            Log.DiskGoesOn(_logger, _directory, _longest);
        }
    }

    private TimeSpan AgeOf(ref long began) =>
        Volatile.Read(ref began) is not 0 and var since ? _time.GetElapsedTime(since) : TimeSpan.Zero;
}
