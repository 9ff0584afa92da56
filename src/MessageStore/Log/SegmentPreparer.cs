namespace EQueue.MessageStore;

/// <summary>Makes the next segment file before it is needed, and looks every second after the room on the disk, the
/// place of the files, and the clock.</summary>
/// <remarks>Its own thread, but for the first files, which the thread makes that opens the log. No I/O under the log's
/// lock, once the log has begun.</remarks>
internal sealed class SegmentPreparer
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

    private readonly Lock _gate;
    private readonly StoreOptions _options;
    private readonly IDisk _disk;
    private readonly int _epoch;
    private readonly Watermarks _marks;
    private readonly SegmentChain _segments;
    private readonly LogFolder _folder;
    private readonly LogFault _fault;
    private readonly ReadOnlyMode _readOnly;
    private readonly RoomWaiters _waiters;
    private readonly AppendRoom _room;
    private readonly ShortageWatch _shortage;
    private readonly WorkSignal _signal;
    private LogBound? _bound;
    private ClockWatch? _clock;
    private int _preparedCount;
    private bool _isFileMissing;

    /// <param name="gate">The log's lock.</param>
    /// <param name="options">Sizes.</param>
    /// <param name="disk">Where the files are made.</param>
    /// <param name="epoch">Stands in the names of files made ahead.</param>
    /// <param name="marks">How far the log has come.</param>
    /// <param name="segments">Says when a file is wanted, and gets it.</param>
    /// <param name="folder">Where they are made.</param>
    /// <param name="fault">Ends the thread.</param>
    /// <param name="readOnly">Is switched when there is no room.</param>
    /// <param name="waiters">Appends that wait for a file.</param>
    /// <param name="room">Says whether they have room.</param>
    /// <param name="shortage">Is told of shortages.</param>
    /// <param name="signal">What its thread sleeps on.</param>
    public SegmentPreparer(
        Lock gate,
        StoreOptions options,
        IDisk disk,
        int epoch,
        Watermarks marks,
        SegmentChain segments,
        LogFolder folder,
        LogFault fault,
        ReadOnlyMode readOnly,
        RoomWaiters waiters,
        AppendRoom room,
        ShortageWatch shortage,
        WorkSignal signal)
    {
        (_gate, _options, _disk, _epoch, _marks, _segments) = (gate, options, disk, epoch, marks, segments);
        (_folder, _fault, _readOnly, _waiters, _room) = (folder, fault, readOnly, waiters, room);
        (_shortage, _signal) = (shortage, signal);
    }

    /// <summary>The thread: returns when the log has ended.</summary>
    /// <param name="bound">Is told the free bytes.</param>
    /// <param name="clock">Is asked each second.</param>
    public void Run(LogBound bound, ClockWatch clock)
    {
        (_bound, _clock) = (bound, clock);
        while (!_fault.IsStopping && _fault.Reason is null)
        {
            try
            {
                PrepareRound();
            }
            catch (Exception exception) when (ShortageWatch.IsShortage(exception))
            {
                // Appends stay in the active segment; those that need the next one wait for it.
                _shortage.Note(exception);
                _signal.Wait(SpaceCheckInterval);
            }
        }
    }

    /// <summary>Makes the file of a log's first segment.</summary>
    public PreparedFile PrepareFirst() => Prepare(FirstCapacity(), isPaced: false);

    /// <summary>Makes the next file at once: before the thread runs, when the last one has no room for the start of the
    /// epoch.</summary>
    public PreparedFile PrepareNext() => Prepare(NextCapacity(), isPaced: false);

    private void PrepareRound()
    {
        if (IsFileWanted() && TryPrepare())
        {
            _shortage.NoteEnd();
            _room.Note();
            return;
        }
        Wait();
    }

    /// <summary>Until something is to be done. Other programs fill the disk as well: the reserve is looked after even
    /// when no file is wanted.</summary>
    private void Wait()
    {
        _signal.Wait(SpaceCheckInterval);
        CheckPlace();
        CheckSpace();
        _clock!.Check();
        if (_readOnly.IsOn)
        {
            // Those that wait for room try again: messages are refused now, state waits on.
            _waiters.TellAll();
        }
    }

    private bool IsFileWanted()
    {
        lock (_gate)
            return _segments.IsFileWanted;
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
            _readOnly.Enter(ReadOnlyReason.Space, exception);
            return false;
        }
        _isFileMissing = false;
        lock (_gate)
            _segments.Add(file);
        CheckSpace();
        return true;
    }

    /// <summary>What the file after the last one holds.</summary>
    private long NextCapacity()
    {
        if (_options.FlushPolicy != FlushPolicy.Sync)
            return _options.SegmentSizeBytes;
        lock (_gate)
            return Math.Clamp(2 * _segments.LastCapacity, FirstCapacity(), _options.SegmentSizeBytes);
    }

    private long FirstCapacity() => _options.FlushPolicy == FlushPolicy.Sync
        ? Math.Min(_options.SegmentSizeBytes, Math.Max(FirstSyncSegmentBytes, 2L * _options.MaxBatchBytes))
        : _options.SegmentSizeBytes;

    private PreparedFile Prepare(long capacity, bool isPaced)
    {
        string path = Path.Combine(_folder.Path, $"{_epoch}-{_preparedCount++}{LogFiles.PreparedSuffix}");
        _disk.Delete(path);
        IDiskFile file = _disk.Open(path, DiskOpen.CreateNew);
        try
        {
            file.Preallocate(0, Segment.HeaderSize + capacity);
            if (_options.FlushPolicy == FlushPolicy.Sync)
                WriteZeros(file, Segment.HeaderSize + capacity, isPaced);
            file.Sync();
            _folder.Sync();
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
            lock (_gate)
            {
                if (_segments.HasStaged(from, share))
                    return true;
            }
            Wait();
        }
        return false;
    }

    /// <summary>Whether appends wait for the next file or soon will, or there will be none.</summary>
    private bool IsFileUrgent()
    {
        lock (_gate)
            return _fault.IsStopping || _fault.Reason is not null || _segments.IsFileUrgent;
    }

    private void CheckPlace()
    {
        if (_fault.Reason is null && _fault.IsPlaceGone())
        {
            throw new DiskException(
                DiskFault.NotFound, _segments.Writing!.Path, "stat", "the file that takes messages is gone");
        }
    }

    private void CheckSpace()
    {
        long free = _disk.FreeBytes(_folder.Path);
        _readOnly.FreeBytes = free;
        _bound!.Note(free);
        // What was wanted may have been made needless by the file that was there.
        _isFileMissing &= IsFileWanted();
        if (_isFileMissing || free < _options.EffectiveReserveBytes)
            _readOnly.Enter(ReadOnlyReason.Space, cause: null);
        else
            _readOnly.Leave(ReadOnlyReason.Space);
    }
}
