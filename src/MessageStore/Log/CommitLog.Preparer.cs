using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>A segment file made ahead of need: room reserved, without header, position and final name.</summary>
internal sealed record PreparedFile(string Path, IDiskFile File, long Capacity);

/// <summary>Why messages are refused; more than one may hold.</summary>
[Flags]
internal enum ReadOnlyReason
{
    None = 0,

    /// <summary>The next segment cannot be made, or what would be left is less than the reserve.</summary>
    Space = 1,

    /// <summary>A write found the disk full.</summary>
    Write = 2,
}

/// <summary>The preparer thread: makes the next segment before it is needed and watches the room on the disk.</summary>
internal sealed partial class CommitLog
{
    /// <summary>With sync flush the first file of a new log holds no more than this: the store opens no sooner than its
    /// zeros are written.</summary>
    private const long FirstSyncSegmentBytes = 64 << 20;

    /// <summary>Zeros written by one call, each synced before the next: what waits behind them on the disk waits
    /// little.</summary>
    private const int ZeroStepBytes = 4 << 20;

    private static readonly TimeSpan SpaceCheckInterval = TimeSpan.FromSeconds(1);

    private readonly WorkSignal _preparerSignal = new();
    private readonly List<PreparedFile> _prepared = [];
    private int _preparedCount;
    private long _prepareAt;
    private long _freeBytes;
    private int _readOnly;
    private bool _isFileMissing;

    /// <summary>Whether messages are refused because the disk is (nearly) full.</summary>
    public bool IsReadOnly => Volatile.Read(ref _readOnly) != 0;

    /// <summary>Free bytes when they were last asked for.</summary>
    public long FreeBytes => Volatile.Read(ref _freeBytes);

    /// <summary>Called when the log becomes read-only for want of room.</summary>
    public Action? Filled { get; set; }

    /// <summary>Files have gone: whether there is room now is looked at at once.</summary>
    public void NoteRemoval() => _preparerSignal.Raise();

    /// <summary>Where a segment with this base position lives.</summary>
    private string SegmentPath(long basePosition) => LogFiles.Segment(_directory, new LogPosition(basePosition));

    private static long PrepareAt(Segment segment) => segment.BasePosition + (segment.Capacity / 2);

    private void RunPreparer()
    {
        CheckSpace();
        while (!_stopping.IsCancellationRequested && Fault is null)
        {
            if (IsFileWanted() && TryPrepare())
            {
                ReleaseRoomWaiters(force: false);
                continue;
            }
            // Others fill the disk as well: the reserve is looked after even when no file is wanted.
            _preparerSignal.Wait(SpaceCheckInterval);
            CheckSpace();
            if (IsReadOnly)
            {
                // Those who wait for room try again: messages are refused now, state waits on.
                ReleaseRoomWaiters(force: true);
            }
        }
    }

    private bool IsFileWanted()
    {
        lock (_lock)
        {
            return _prepared.Count < Math.Max(_wantedFiles, _prepareAt == long.MaxValue ? 1 : 0);
        }
    }

    private bool TryPrepare()
    {
        PreparedFile file;
        try
        {
            file = Prepare(_options.SegmentSizeBytes);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Full)
        {
            _isFileMissing = true;
            EnterReadOnly(ReadOnlyReason.Space, exception);
            return false;
        }
        _isFileMissing = false;
        lock (_lock)
        {
            _prepared.Add(file);
        }
        CheckSpace();
        return true;
    }

    private PreparedFile Prepare(long capacity)
    {
        string path = Path.Combine(_directory, $"{Epoch}-{_preparedCount++}{LogFiles.PreparedSuffix}");
        _disk.Delete(path);
        IDiskFile file = _disk.Open(path, DiskOpen.CreateNew);
        try
        {
            file.Preallocate(0, Segment.HeaderSize + capacity);
            if (_options.FlushPolicy == FlushPolicy.Sync)
            {
                WriteZeros(file, Segment.HeaderSize + capacity);
            }
            file.Sync();
            SyncFolder();
        }
        catch
        {
            file.Dispose();
            _disk.Delete(path);
            throw;
        }
        return new PreparedFile(path, file, capacity);
    }

    /// <summary>Writes zeros over a reserved file: fdatasync of later writes then changes no record of the file
    /// system and takes less than half the time. Stops early when appends need the file sooner.</summary>
    private void WriteZeros(IDiskFile file, long length)
    {
        byte[] zeros = new byte[(int)Math.Min(length, ZeroStepBytes)];
        for (long offset = 0; offset < length && !IsFileUrgent(); offset += zeros.Length)
        {
            file.Write(zeros.AsSpan(0, (int)Math.Min(zeros.Length, length - offset)), offset);
            file.Sync();
        }
    }

    /// <summary>Whether appends wait for the next file or soon will: an eighth of the active segment is left.</summary>
    private bool IsFileUrgent()
    {
        lock (_lock)
        {
            return _stopping.IsCancellationRequested || _wantedFiles > 0
                || (_active is { } active && active.BasePosition + (active.Capacity / 8 * 7) < _staged);
        }
    }

    private Segment MakeFirstSegment(long position)
    {
        long capacity = _options.FlushPolicy == FlushPolicy.Sync
            ? Math.Min(_options.SegmentSizeBytes, Math.Max(FirstSyncSegmentBytes, 2L * _options.MaxBatchBytes))
            : _options.SegmentSizeBytes;
        PreparedFile prepared = Prepare(capacity);
        long nowMs = _time.GetUtcNow().ToUnixTimeMilliseconds();
        var segment = new Segment(SegmentPath(position), position, prepared.Capacity, nowMs)
        {
            File = prepared.File,
            PreparedPath = prepared.Path,
        };
        if (_segments.Length > 0)
        {
            _segments[^1].Next = segment;
        }
        _segments = [.. _segments, segment];
        return segment;
    }

    private void CheckSpace()
    {
        long free = _disk.FreeBytes(_directory);
        Volatile.Write(ref _freeBytes, free);
        // What was wanted may have been made needless by the file that was there.
        _isFileMissing &= IsFileWanted();
        if (_isFileMissing || free < _options.EffectiveReserveBytes)
        {
            EnterReadOnly(ReadOnlyReason.Space, cause: null);
        }
        else
        {
            LeaveReadOnly(ReadOnlyReason.Space);
        }
    }

    private void EnterReadOnly(ReadOnlyReason reason, DiskException? cause)
    {
        if ((Interlocked.Or(ref _readOnly, (int)reason) & (int)reason) == 0)
        {
            Log.ReadOnlyEntered(_logger, cause, _directory, reason, FreeBytes, _options.EffectiveReserveBytes);
            ReleaseRoomWaiters(force: true);
            Filled?.Invoke();
        }
    }

    private void LeaveReadOnly(ReadOnlyReason reason)
    {
        if ((Interlocked.And(ref _readOnly, ~(int)reason) & (int)reason) != 0)
        {
            Log.ReadOnlyLeft(_logger, _directory, reason, FreeBytes);
            ReleaseRoomWaiters(force: true);
        }
    }
}
