namespace EQueue.MessageStore;

/// <summary>Room for appends: in the arena, in the active segment, in those made ahead. Who finds none waits
/// here.</summary>
internal sealed partial class CommitLog
{
    private readonly List<TaskCompletionSource> _roomWaiters = [];
    private bool _roomWanted;
    private int _wantedFiles;

    /// <summary>Whether messages wait for room while the store is read-only, instead of being refused.</summary>
    private bool WaitsWhenFull => _options.MemoryFull != MemoryFull.Reject;

    /// <inheritdoc cref="QueueStore.WaitForRoomAsync"/>
    public Task WaitForRoomAsync(CancellationToken cancellationToken)
    {
        TaskCompletionSource room;
        lock (_lock)
        {
            if (HasRoom())
                return Task.CompletedTask;
            room = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            _roomWaiters.Add(room);
            Volatile.Write(ref _roomWanted, true);
        }
        // The watermark may have moved between the look and the flag.
        ReleaseRoomWaiters(force: false);
        return room.Task.WaitAsync(cancellationToken);
    }

    /// <summary>Ends the active segment and continues in the prepared one, which <see cref="TryMakeRoom"/> has
    /// seen.</summary>
    private void Roll(long nowMs)
    {
        PreparedFile prepared = _prepared[0];
        _prepared.RemoveAt(0);
        Segment old = _active;
        _marks.Claim(Math.Max(_marks.Claimed, _marks.Staged + EntryHeaderSize));
        long end = StageMark(EntryKind.Seal, nowMs);
        var next = new Segment(SegmentPath(end), end, prepared.Capacity, nowMs)
        {
            File = prepared.File,
            PreparedPath = prepared.Path,
        };
        Volatile.Write(ref _segments, [.. _segments, next]);
        old.Next = next;
        old.EndPosition = end;
        _active = next;
        _preparerDueAt = PrepareAt(next);
        _isActiveOld = false;
        _wantedFiles = 0;
    }

    /// <summary>Whether a request can be staged now; wakes the preparer when a segment is missing. Rolls a segment
    /// that is too old.</summary>
    private bool TryMakeRoom(ReadOnlySpan<AppendItem> items, long total, long nowMs)
    {
        if (_marks.Staged + total + Slack - Visible > _maxUnseenBytes)
            return false;
        // Stored times may have gone back since it was made.
        long age = Math.Abs(nowMs - _active.CreatedTimeMs);
        if (age > _options.SegmentMaxAge.TotalMilliseconds && _marks.Staged > _active.BasePosition)
        {
            if (_prepared.Count > 0)
            {
                Roll(nowMs);
            }
            else if (!_isActiveOld)
            {
                // The age is a wish: appends go on here until the next file is there.
                _isActiveOld = true;
                _preparerSignal.Raise();
            }
        }
        if (FitsActive(total))
            return true;
        int files = FilesFor(items, total);
        if (files <= _prepared.Count)
            return true;
        _wantedFiles = Math.Max(_wantedFiles, files);
        _preparerSignal.Raise();
        return false;
    }

    /// <summary>Whether so many bytes and the seal behind them fit into the active segment.</summary>
    private bool FitsActive(long size) =>
        _marks.Staged + size + EntryHeaderSize <= _active.BasePosition + _active.Capacity;

    /// <summary>How many files made ahead a request needs, entry by entry, behind what is left of the active
    /// segment.</summary>
    private int FilesFor(ReadOnlySpan<AppendItem> items, long total)
    {
        long room = _active.BasePosition + _active.Capacity - _marks.Staged;
        int used = 0;
        int count = Math.Max(1, items.Length);
        for (int i = 0; i < count; i++)
        {
            long size = items.IsEmpty ? total : EntryHeaderSize + items[i].Batch.Length;
            if (room < size + EntryHeaderSize)
            {
                room = used < _prepared.Count ? _prepared[used].Capacity : _options.SegmentSizeBytes;
                used++;
            }
            room -= size;
        }
        return used;
    }

    private bool HasRoom()
    {
        if (_fault is not null || _isClosing)
            return true;
        if (WaitsWhenFull && IsReadOnly)
            return false;
        return _marks.Staged - Visible <= _maxUnseenBytes / 2 && _prepared.Count >= _wantedFiles;
    }

    private void ReleaseRoomWaiters(bool force)
    {
        if (!Volatile.Read(ref _roomWanted) && !force)
            return;
        TaskCompletionSource[] released;
        lock (_lock)
        {
            if (!force && !HasRoom())
                return;
            released = [.. _roomWaiters];
            _roomWaiters.Clear();
            Volatile.Write(ref _roomWanted, false);
        }
        foreach (TaskCompletionSource waiter in released)
            waiter.TrySetResult();
    }
}
