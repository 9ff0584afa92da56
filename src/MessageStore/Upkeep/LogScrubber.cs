using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>
/// The scrub: reads every sealed segment and its index again, pass after pass, and reports bytes that are not as they
/// were written. It changes nothing but damaged indexes, which it has rebuilt, and notes segments
/// that are gone.
/// </summary>
/// <remarks>
/// Owns one thread, none when the scrub is off; figures are read by any thread. Takes no lock of the log: it looks at
/// the segments as they are published, and one that is no longer published when damage shows was removed or replaced
/// meanwhile.
/// </remarks>
internal sealed class LogScrubber : IDisposable
{
    private readonly CommitLog _log;
    private readonly StoreOptions _options;
    private readonly string _directory;
    private readonly UpkeepRepair _repair;
    private readonly ILogger _logger;
    private readonly TimeProvider _time;
    private readonly uint _logSeed;
    private readonly ScrubPace _pace;
    private readonly PacedDisk _disk;
    private readonly Thread? _thread;
    private long _badRanges;
    private long _passes;
    private long _lastEndTimeMs;

    public LogScrubber(
        CommitLog log,
        StoreOptions options,
        IDisk disk,
        string directory,
        UpkeepRepair repair,
        ILogger logger,
        TimeProvider time)
    {
        _log = log;
        _options = options;
        _directory = directory;
        _repair = repair;
        _logger = logger;
        _time = time;
        _logSeed = EntryHeader.SeedOf(log.LogId);
        _pace = new ScrubPace(options.ScrubBytesPerSecond, time);
        _disk = new PacedDisk(disk, _pace);
        if (options.ScrubBytesPerSecond > 0)
        {
            _thread = new Thread(Run) { IsBackground = true, Name = "EQueue log scrubber" };
            _thread.Start();
        }
    }

    /// <summary>Bytes read.</summary>
    public long Bytes => _pace.Bytes;

    /// <summary>Bad ranges reported, in all passes.</summary>
    public long BadRanges => Volatile.Read(ref _badRanges);

    /// <summary>Passes that came to their end.</summary>
    public long Passes => Volatile.Read(ref _passes);

    /// <summary>Unix milliseconds of the end of the last of them; 0 = none.</summary>
    public long LastEndTimeMs => Volatile.Read(ref _lastEndTimeMs);

    /// <summary>Ends the thread, after one more read at most or the rebuild of an index.</summary>
    public void Dispose()
    {
        _pace.Stop();
        _thread?.Join();
        _pace.Dispose();
    }

    private void Run()
    {
        try
        {
            while (_log.Fault is null)
            {
                TimeSpan next = _pace.Now + _options.ScrubInterval;
                RunPass();
                _pace.WaitUntil(next);
            }
        }
        catch (OperationCanceledException)
        {
            // The store is closing.
        }
    }

    private void RunPass()
    {
        (TimeSpan started, long bytes, long badRanges) = (_pace.Now, _pace.Bytes, _badRanges);
        int count = 0;
        foreach (Segment segment in _log.Segments)
        {
            if (_log.Fault is not null)
                return;
            if (segment is { HasIndex: true, IsLost: false } && IsInLog(segment))
            {
                ScrubGuarded(segment);
                count++;
            }
        }
        Volatile.Write(ref _lastEndTimeMs, _time.GetUtcNow().ToUnixTimeMilliseconds());
        Volatile.Write(ref _passes, _passes + 1);
        if (count > 0)
        {
            Log.ScrubPassEnded(
                _logger, _directory, count, _pace.Bytes - bytes, _pace.Now - started, _badRanges - badRanges);
        }
    }

    private void ScrubGuarded(Segment segment)
    {
        try
        {
            ScrubEntries(segment);
            ScrubIndex(segment);
        }
        catch (Exception exception) when (exception is not OperationCanceledException)
        {
            if (IsInLog(segment) && !_repair.TryNoteGone(exception))
                Log.ScrubFailed(_logger, exception, segment.Path);
        }
    }

    private void ScrubEntries(Segment segment)
    {
        var basePosition = new LogPosition(segment.BasePosition);
        bool isOld = segment.EndPosition <= _log.Durable - _options.PageCacheBytes;
        IDiskFile file = _disk.Open(segment.Path, letsGo: isOld);
        LogPosition packedTo = segment.IsPacked ? new LogPosition(segment.EndPosition) : default;
        using var scanner = new SegmentScanner(file, segment.Path, basePosition, _logSeed, packedTo);
        long end = segment.IsPacked ? scanner.EndOfFile : segment.EndPosition;
        byte[] bytes = new byte[SegmentHeader.Length];
        int size = file.Read(bytes, 0);
        if (SegmentHeader.Read(bytes.AsSpan(0, size), out SegmentHeader? header) != FileVerdict.Valid
            || header!.LogId != _log.LogId || header.BasePosition != basePosition)
        {
            Report(segment, segment.Path, basePosition.Value, SegmentHeader.Length);
        }
        while (scanner.TryStep(end, out (long Position, long Size) bad))
        {
            if (bad.Size > 0)
                Report(segment, segment.Path, bad.Position, bad.Size);
        }
    }

    private void ScrubIndex(Segment segment)
    {
        var basePosition = new LogPosition(segment.BasePosition);
        string path = segment.IndexPath;
        FileVerdict verdict = SealedIndex.TryOpen(_disk, path, _log.LogId, basePosition, out SealedIndex? index);
        using (index)
        {
            if (verdict == FileVerdict.Valid && index!.Header.EndPosition.Value == segment.EndPosition
                && index.VerifyAll())
            {
                return;
            }
        }
        if (IsInLog(segment))
        {
            string name = Path.GetFileName(path);
            DiskEntry found = _disk.List(_directory).FirstOrDefault(entry => entry.Name == name);
            Report(segment, path, basePosition.Value, found.Size);
            _repair.RebuildIndex(path);
        }
    }

    private void Report(Segment segment, string path, long position, long size)
    {
        if (IsInLog(segment))
        {
            Volatile.Write(ref _badRanges, _badRanges + 1);
            Log.ScrubFoundDamage(_logger, path, position, size);
        }
    }

    private bool IsInLog(Segment segment) => Array.IndexOf(_log.Segments, segment) >= 0;
}
