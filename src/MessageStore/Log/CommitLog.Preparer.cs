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
    /// <summary>With sync flush the first file of a new log holds no more than this, for the store opens no sooner than
    /// its zeros are written, and each one after it twice as much as the one before, up to the configured size: so
    /// there are appends enough to write its zeros beside.</summary>
    private const long FirstSyncSegmentBytes = 64 << 20;

    /// <summary>Zeros written by one call before the store opens, each synced before the next.</summary>
    private const int ZeroStepBytes = 4 << 20;

    /// <summary>The same beside appends: what waits behind them on the disk waits little.</summary>
    private const int PacedZeroStepBytes = 256 << 10;

    private static readonly TimeSpan SpaceCheckInterval = TimeSpan.FromSeconds(1);

    private readonly WorkSignal _preparerSignal = new();
    private readonly List<PreparedFile> _prepared = [];
    private int _preparedCount;

    /// <summary>The preparer is woken when so much is staged.</summary>
    private long _preparerDueAt;

    /// <summary>Whether the active segment should end for its age.</summary>
    private bool _isActiveOld;
    private long _freeBytes;
    private int _readOnly;
    private bool _isFileMissing;
    private long _wantedResetMs;

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

    /// <summary>Where the next file begins to be made. Zeros are spread over what is appended until
    /// <see cref="UrgentAt"/>.</summary>
    private long PrepareAt(Segment segment) =>
        segment.BasePosition + (segment.Capacity / (_options.FlushPolicy == FlushPolicy.Sync ? 8 : 2));

    /// <summary>From here on appends may soon wait for the next file: it is done without its other zeros.</summary>
    private static long UrgentAt(Segment segment) => segment.BasePosition + (segment.Capacity / 8 * 7);

    private void RunPreparer()
    {
        while (!_stopping.IsCancellationRequested && Fault is null)
        {
            try
            {
                PrepareRound();
            }
            catch (Exception exception) when (ShortageWatch.IsShortage(exception))
            {
                // Appends go on in the active segment; those that need the next one wait for it.
                _shortage.Note(exception);
                _preparerSignal.Wait(SpaceCheckInterval);
            }
        }
    }

    private void PrepareRound()
    {
        if (IsFileWanted() && TryPrepare())
        {
            _shortage.NoteEnd();
            ReleaseRoomWaiters(force: false);
            return;
        }
        Wait();
    }

    /// <summary>Until something is to be done. Others fill the disk as well: the reserve is looked after even when no
    /// file is wanted.</summary>
    private void Wait()
    {
        _preparerSignal.Wait(SpaceCheckInterval);
        CheckPlace();
        CheckSpace();
        CheckClock();
        if (IsReadOnly)
        {
            // Those who wait for room try again: messages are refused now, state waits on.
            ReleaseRoomWaiters(force: true);
        }
    }

    private bool IsFileWanted()
    {
        lock (_lock)
        {
            bool isDue = _isActiveOld || _marks.Staged >= PrepareAt(_active);
            return _prepared.Count < Math.Max(_wantedFiles, isDue ? 1 : 0);
        }
    }

    private bool TryPrepare()
    {
        PreparedFile file;
        try
        {
            file = Prepare(NextCapacity(), isPaced: true);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Full)
        {
            _isFileMissing = true;
            EnterReadOnly(ReadOnlyReason.Space, exception);
            return false;
        }
        _isFileMissing = false;
        lock (_lock)
            _prepared.Add(file);
        CheckSpace();
        return true;
    }

    /// <summary>What the file after the last one holds.</summary>
    private long NextCapacity()
    {
        if (_options.FlushPolicy != FlushPolicy.Sync)
            return _options.SegmentSizeBytes;
        lock (_lock)
        {
            long last = _prepared.Count > 0 ? _prepared[^1].Capacity : _active.Capacity;
            return Math.Clamp(2 * last, FirstCapacity(), _options.SegmentSizeBytes);
        }
    }

    private long FirstCapacity() => _options.FlushPolicy == FlushPolicy.Sync
        ? Math.Min(_options.SegmentSizeBytes, Math.Max(FirstSyncSegmentBytes, 2L * _options.MaxBatchBytes))
        : _options.SegmentSizeBytes;

    private PreparedFile Prepare(long capacity, bool isPaced)
    {
        string path = Path.Combine(_directory, $"{Epoch}-{_preparedCount++}{LogFiles.PreparedSuffix}");
        _disk.Delete(path);
        IDiskFile file = _disk.Open(path, DiskOpen.CreateNew);
        try
        {
            file.Preallocate(0, Segment.HeaderSize + capacity);
            if (_options.FlushPolicy == FlushPolicy.Sync)
                WriteZeros(file, Segment.HeaderSize + capacity, isPaced);
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
    private void WriteZeros(IDiskFile file, long length, bool isPaced)
    {
        byte[] zeros = new byte[(int)Math.Min(length, isPaced ? PacedZeroStepBytes : ZeroStepBytes)];
        long from = _marks.Staged;
        for (long offset = 0; offset < length; offset += zeros.Length)
        {
            if (IsFileUrgent() || (isPaced && !WaitForAppends(from, (double)offset / length)))
                return;
            file.Write(zeros.AsSpan(0, (int)Math.Min(zeros.Length, length - offset)), offset);
            file.Sync();
        }
    }

    /// <summary>Returns when so much of what can be appended while the file is made has been appended as of its zeros
    /// is written: they take no more of the disk than they must. An old segment has no time for that.</summary>
    /// <returns>False when the file is needed now.</returns>
    private bool WaitForAppends(long from, double share)
    {
        while (!IsFileUrgent())
        {
            lock (_lock)
            {
                long due = from + (long)((UrgentAt(_active) - from) * share);
                if (_isActiveOld || _marks.Staged >= due)
                    return true;
                _preparerDueAt = due;
            }
            Wait();
        }
        return false;
    }

    /// <summary>Whether appends wait for the next file or soon will, or there will be none.</summary>
    private bool IsFileUrgent()
    {
        lock (_lock)
        {
            return _stopping.IsCancellationRequested || _fault is not null || _wantedFiles > 0
                || (_active is { } active && UrgentAt(active) < _marks.Staged);
        }
    }

    private Segment MakeFirstSegment(long position)
    {
        PreparedFile prepared = Prepare(FirstCapacity(), isPaced: false);
        long nowMs = _clock.NowMs();
        var segment = new Segment(SegmentPath(position), position, prepared.Capacity, nowMs)
        {
            File = prepared.File,
            PreparedPath = prepared.Path,
        };
        if (_segments.Length > 0)
            _segments[^1].Next = segment;
        _segments = [.. _segments, segment];
        return segment;
    }

    /// <summary>Bytes written into a file without a name are acknowledged and lost: who removes or moves the data
    /// directory under a running store ends it.</summary>
    private void CheckPlace()
    {
        if (Fault is null && IsPlaceGone())
            throw new DiskException(DiskFault.NotFound, _writing.Path, "stat", "the file that takes messages is gone");
    }

    private bool IsPlaceGone()
    {
        Segment writing = Volatile.Read(ref _writing);
        if (writing.PreparedPath is not null || writing.IsSealed)
            return false;
        try
        {
            return !_disk.Exists(writing.Path) || writing.File is { IsUnlinked: true };
        }
        catch (DiskException)
        {
            // A disk that does not answer says nothing about the place; what failed first is told.
            return false;
        }
    }

    /// <summary>Takes a wrong time back. Without room the next look tries again.</summary>
    private void CheckClock()
    {
        if (_wantedResetMs == 0 && _clock.TryTakeReset(out long timeMs))
            _wantedResetMs = timeMs;
        if (_wantedResetMs > 0 && Fault is null && TryResetTime(_wantedResetMs))
            _wantedResetMs = 0;
    }

    private void CheckSpace()
    {
        long free = _disk.FreeBytes(_directory);
        Volatile.Write(ref _freeBytes, free);
        Bound.Note(free);
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
            BackgroundWork?.Invoke();
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
