namespace EQueue.MessageStore;

/// <summary>Room for appends: in the arena, in the active segment, in those made ahead. Who finds none waits
/// here.</summary>
internal sealed partial class CommitLog
{
    private readonly List<TaskCompletionSource> _roomWaiters = [];
    private bool _roomWanted;
    private long _wantedBytes;

    /// <summary>Whether messages wait for room while the store is read-only, instead of being refused.</summary>
    private bool WaitsWhenFull => _options.MemoryFull != MemoryFull.Reject;

    /// <inheritdoc cref="QueueStore.WaitForRoomAsync"/>
    public Task WaitForRoomAsync(CancellationToken cancellationToken)
    {
        TaskCompletionSource room;
        lock (_lock)
        {
            if (HasRoom())
            {
                return Task.CompletedTask;
            }
            room = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            _roomWaiters.Add(room);
            Volatile.Write(ref _roomWanted, true);
        }
        // The watermark may have moved between the look and the flag.
        ReleaseRoomWaiters(force: false);
        return room.Task.WaitAsync(cancellationToken);
    }

    /// <summary>Ends the active segment and goes on in the prepared one, which <see cref="TryMakeRoom"/> has
    /// seen.</summary>
    private void Roll(long nowMs)
    {
        PreparedFile prepared = _prepared[0];
        _prepared.RemoveAt(0);
        Segment old = _active;
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
        _prepareAt = PrepareAt(next);
        _wantedBytes = 0;
    }

    /// <summary>Whether a request can be staged now; wakes the preparer when a segment is missing. Rolls a segment
    /// that is too old.</summary>
    private bool TryMakeRoom(ReadOnlySpan<AppendItem> items, long total, long nowMs)
    {
        if (_staged + total + Slack - Visible > _maxUnseenBytes)
        {
            return false;
        }
        long age = nowMs - _active.CreatedTimeMs;
        if (age > _options.SegmentMaxAge.TotalMilliseconds && _staged > _active.BasePosition)
        {
            if (_prepared.Count > 0)
            {
                Roll(nowMs);
            }
            else if (_prepareAt != long.MaxValue)
            {
                // The age is a wish: appends go on here until the next file is there.
                _prepareAt = long.MaxValue;
                _preparerSignal.Raise();
            }
        }
        if (_staged + total + EntryHeaderSize <= _active.BasePosition + _active.Capacity)
        {
            return true;
        }
        if (FitsPrepared(items, total))
        {
            return true;
        }
        _wantedBytes = Math.Max(_wantedBytes, total);
        _preparerSignal.Raise();
        return false;
    }

    /// <summary>Whether a request fits into what is left of the active segment and the files made ahead, entry by
    /// entry.</summary>
    private bool FitsPrepared(ReadOnlySpan<AppendItem> items, long total)
    {
        long room = _active.BasePosition + _active.Capacity - _staged;
        int used = 0;
        int count = Math.Max(1, items.Length);
        for (int i = 0; i < count; i++)
        {
            long size = items.IsEmpty ? total : EntryHeaderSize + items[i].Batch.Length;
            if (room < size + EntryHeaderSize)
            {
                if (used == _prepared.Count)
                {
                    return false;
                }
                room = _prepared[used++].Capacity;
            }
            room -= size;
        }
        return true;
    }

    private bool HasRoom()
    {
        if (_fault is not null || _isClosing)
        {
            return true;
        }
        if (WaitsWhenFull && IsReadOnly)
        {
            return false;
        }
        long preparedBytes = 0;
        foreach (PreparedFile prepared in _prepared)
        {
            preparedBytes += prepared.Capacity;
        }
        return _staged - Visible <= _maxUnseenBytes / 2 && (_wantedBytes == 0 || preparedBytes > _wantedBytes);
    }

    private void ReleaseRoomWaiters(bool force)
    {
        if (!Volatile.Read(ref _roomWanted) && !force)
        {
            return;
        }
        TaskCompletionSource[] released;
        lock (_lock)
        {
            if (!force && !HasRoom())
            {
                return;
            }
            released = [.. _roomWaiters];
            _roomWaiters.Clear();
            Volatile.Write(ref _roomWanted, false);
        }
        foreach (TaskCompletionSource waiter in released)
        {
            waiter.TrySetResult();
        }
    }
}
