using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>Steps that hurt: crashes, faults of the disk, orderly stops; each crash and stop is followed by a complete
/// comparison.</summary>
internal sealed partial class ModelWorld
{
    /// <summary>Whether the store is being closed or is dead: what it has not answered yet may fail.</summary>
    private bool _isEnding;

    /// <summary>The next append after this begins a new segment, as soon as the store has made one.</summary>
    private async Task AgeAsync()
    {
        _time.UnixMs += (long)SegmentMaxAge.TotalMilliseconds + 1;
        await AppendStateAsync();
    }

    private async Task KillAsync()
    {
        // With or without what the system still has to write: later cuts can lose it then.
        SimulatedDisk left = _random.Next(2) == 0 ? _disk.Kill() : _disk.KillProcess();
        await EndLifeAsync();
        _disk = left;
        await ReopenAsync(isPowerCut: false);
    }

    private async Task CutPowerAsync()
    {
        var style = (PowerCutStyle)_random.Next(4);
        _histogram.Count($"power cut: {style}");
        SimulatedDisk left = _disk.CutPower(_random.Next(), style);
        await EndLifeAsync();
        _disk = left;
        await ReopenAsync(isPowerCut: true);
    }

    /// <summary>Dies, and dies again at some call of the opening, once or more.</summary>
    private async Task CrashWhileOpeningAsync()
    {
        bool isPowerCut = _random.Next(2) == 0;
        SimulatedDisk left = isPowerCut ? _disk.CutPower(_random.Next(), (PowerCutStyle)_random.Next(4)) : _disk.KillProcess();
        await EndLifeAsync();
        for (int i = _random.Next(1, 4); i > 0; i--)
        {
            _disk = left;
            _faults.Attach(_disk);
            _faults.DieAfter(_random.Next(25));
            _machine = new MemoryState();
            try
            {
                _store = await OpenStoreAsync();
                _histogram.Count("crash while opening: too late");
            }
            catch (Exception exception) when (exception is DiskException or EQueueException)
            {
                _histogram.Count("crash while opening: hit");
            }

            bool isCut = _random.Next(2) == 0;
            isPowerCut |= isCut;
            left = isCut ? _disk.CutPower(_random.Next(), (PowerCutStyle)_random.Next(4)) : _disk.KillProcess();
            await EndLifeAsync();
        }

        _disk = left;
        await ReopenAsync(isPowerCut);
    }

    private async Task ReopenCleanlyAsync()
    {
        _isEnding = _faults.IsFull || _faults.WasFull;
        await Store.DisposeAsync().AsTask().WaitAsync(Deadline, _cancel);
        bool isWhole = !Store.Completion.IsFaulted;
        await EndLifeAsync();
        if (isWhole)
            Vouch(_events.Count, isDurable: true);
        bool isPowerCut = _random.Next(2) == 0;
        if (isPowerCut)
            _disk = _disk.CutPower(_random.Next(), (PowerCutStyle)_random.Next(4));
        await ReopenAsync(isPowerCut);
    }

    /// <summary>A write or sync failed: the store said so, takes no more and is opened again, by another process or
    /// after a power cut.</summary>
    private async Task ReopenLatchedAsync()
    {
        _histogram.Count("latched");
        Assert.True(_faults.MayLatch, $"the store failed by itself: {Store.Completion.Exception?.InnerException}");
        var items = new AppendItem[] { new() { Queue = new QueueId(1), Batch = TestBatch.Of("refused") } };
        Assert.Equal(AppendStatus.Nothing, Store.Append(items, Durability.Policy, new TestWaiter()));
        Assert.Equal(ErrorCode.StoreFaulted, items[0].Error);
        bool isPowerCut = _random.Next(3) == 0;
        SimulatedDisk left = isPowerCut ? _disk.CutPower(_random.Next(), (PowerCutStyle)_random.Next(4)) : _disk;
        await EndLifeAsync();
        Assert.False(_disk == left && left.Exists(LogFiles.CleanFile(Folder)), "a failed store left a clean marker");
        _disk = left;
        await ReopenAsync(isPowerCut);
    }

    /// <summary>Ends a life: every waiter is told something, and what they are told counts.</summary>
    private async Task EndLifeAsync()
    {
        _isEnding = true;
        if (_store is not null)
        {
            _histogram.Count("segments removed", _store.Figures.SegmentsRemoved);
            _histogram.Count("segments packed", _store.Figures.SegmentsPacked);
            await _store.DisposeAsync().AsTask().WaitAsync(Deadline, _cancel);
            foreach (Pending pending in _pending)
                await EndOf(pending.Task);
            TakeAnswers();
            Assert.Empty(_pending);
        }

        foreach (Watching watching in _watches)
            Assert.InRange(watching.Signal.Calls, 0, 1);
        _watches.Clear();
        _isEnding = false;
        _store = null;
    }

    private Task FillAsync()
    {
        DiskOperationKind?[] kinds =
        [
            null, null, null, DiskOperationKind.Write, DiskOperationKind.Create, DiskOperationKind.SetLength,
            DiskOperationKind.Rename, DiskOperationKind.SyncFile, DiskOperationKind.SyncDirectory,
        ];
        _faults.Fill(_random.Next(1, 6), Pick(kinds));
        return AppendSomethingAsync();
    }

    private Task TakeRoomAsync()
    {
        _faults.TakeRoom();
        return AgeAsync();
    }

    private Task BreakWriteAsync() => BreakAsync(DiskOperationKind.Write);

    private Task BreakSyncAsync() => BreakAsync(DiskOperationKind.SyncFile);

    private async Task BreakAsync(DiskOperationKind kind)
    {
        _faults.Break(kind);
        await AppendSomethingAsync();
        if (_faults.IsFull)
            return;
        // The answers come, good or bad: by then the call has failed.
        foreach (Pending pending in _pending.ToArray())
            await EndOf(pending.Task);
    }

    private Task SlowAsync()
    {
        _faults.Slow(_random.Next(1, 10));
        return AppendSomethingAsync();
    }

    private async Task AppendSomethingAsync()
    {
        for (int i = _random.Next(1, 4); i > 0; i--)
            await AppendMessagesAsync();
    }
}
