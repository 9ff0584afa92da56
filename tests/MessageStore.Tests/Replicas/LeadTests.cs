using System.Buffers;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>A store that leads: what all replicas have counts, and nothing else.</summary>
public sealed class LeadTests
{
    private readonly SimulatedDisk _disk = new();
    private readonly MemoryState _state = new();
    private QueueId _queue;

    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenALeader_WhenItsReplicasHaveLess_ThenReadersAndWaitersWaitForThem()
    {
        await using QueueStore leader = await BegunAsync(FlushPolicy.Sync);
        long before = leader.Queues.Single().End.Value;
        TestWaiter written = Append(leader, Durability.Written);
        TestWaiter policy = Append(leader, Durability.Policy);
        TestWaiter durable = Append(leader, Durability.Durable);
        await Replica.SettleAsync(leader, isDurable: true);
        LogWatermarks marks = leader.Watermarks;

        // All is durable here; nothing is committed.
        Assert.False(written.Task.IsCompleted || policy.Task.IsCompleted || durable.Task.IsCompleted);
        Assert.Equal(before, leader.Queues.Single().End.Value);
        leader.SetCommitted(marks.Written, marks.Visible);
        Assert.True(written.Task.IsCompleted);
        Assert.False(policy.Task.IsCompleted || durable.Task.IsCompleted);
        Assert.Equal(before, leader.Queues.Single().End.Value);
        leader.SetCommitted(marks.Visible, marks.Durable);
        Assert.True(policy.Task.IsCompleted && durable.Task.IsCompleted);
        Assert.Equal(before + 3, leader.Queues.Single().End.Value);
    }

    [Fact]
    public async Task GivenALeaderWithAsyncFlush_WhenItsReplicasHaveWritten_ThenItIsVisibleAndOnlyDurableWaitersWait()
    {
        await using QueueStore leader = await BegunAsync(FlushPolicy.Async);
        TestWaiter policy = Append(leader, Durability.Policy);
        TestWaiter durable = Append(leader, Durability.Durable);
        await Replica.SettleAsync(leader, isDurable: true);
        LogWatermarks marks = leader.Watermarks;
        Assert.False(policy.Task.IsCompleted);
        leader.SetCommitted(marks.Written, default);
        Assert.True(policy.Task.IsCompleted);
        Assert.False(durable.Task.IsCompleted);
        Assert.Equal(marks.Written, leader.Watermarks.Visible);
        leader.SetCommitted(default, marks.Durable);
        Assert.True(durable.Task.IsCompleted);
    }

    [Fact]
    public async Task GivenALeaderWhoseEpochIsOver_WhenItStopsToLead_ThenAllWhoWaitAreToldAndTheDirectoryIsAFollowers()
    {
        QueueStore leader = await BegunAsync(FlushPolicy.Sync);
        TestWaiter policy = Append(leader, Durability.Policy);
        TestWaiter durable = Append(leader, Durability.Durable);
        await Replica.SettleAsync(leader, isDurable: true);
        LogPosition end = leader.Watermarks.Durable;
        leader.StopLeading();

        Assert.Equal(ErrorCode.ShuttingDown, (await Assert.ThrowsAsync<EQueueException>(() => policy.Task)).Code);
        Assert.Equal(ErrorCode.ShuttingDown, (await Assert.ThrowsAsync<EQueueException>(() => durable.Task)).Code);
        await leader.DisposeAsync();
        await leader.Completion;
        using ReplicaFiles files = Replica.Open(_disk);
        Assert.Equal(end, files.Tail.End);
        Assert.False(files.IsClean);
    }

    [Fact]
    public async Task GivenMessagesThatAreNotCommitted_WhenTheyAreFetched_ThenTheReaderWaits()
    {
        await using QueueStore leader = await BegunAsync(FlushPolicy.Sync);
        long visible = leader.Queues.Single().End.Value;
        for (int i = 0; i < 3; i++)
            _ = Append(leader, Durability.Policy);
        await Replica.SettleAsync(leader, isDurable: true);

        for (long offset = visible; offset <= visible + 3; offset++)
        {
            ReadResult result = leader.Read(_queue, new QueueOffset(offset), 1 << 20, new ArrayBufferWriter<byte>());
            Assert.Equal((ErrorCode.None, 0, offset), (result.Error, result.Size, result.NextOffset.Value));
        }

        ReadResult beyond = leader.Read(_queue, new QueueOffset(visible + 4), 1 << 20, new ArrayBufferWriter<byte>());
        Assert.Equal(ErrorCode.OffsetOutOfRange, beyond.Error);
        var ready = new TestSignal();
        Assert.True(leader.Watch(_queue, new QueueOffset(visible + 2), ready));
        Assert.False(ready.Task.IsCompleted);
        leader.SetCommitted(leader.Watermarks.Written, leader.Watermarks.Durable);
        Assert.True(ready.Task.IsCompleted);
    }

    [Fact]
    public async Task GivenARemovalAndAStartThatAreNotCommitted_WhenReadersLook_ThenTheySeeWhatWasBefore()
    {
        await using QueueStore leader = await BegunAsync(FlushPolicy.Sync);
        QueueId other = await OpenQueueAsync(leader);
        await CommittedAsync(leader, Append(leader, Durability.Policy, other));
        long end = leader.Queues.Single(view => view.Id == _queue).End.Value;
        LogPosition before = leader.Watermarks.Staged;
        Task<int> moved = leader.MoveStartsAsync([(_queue, new QueueOffset(end))], Cancel);
        await Eventually.TrueAsync(() => leader.Watermarks.Staged.Value > before.Value);
        Task removed = leader.RemoveQueuesAsync([other], [MemoryState.Entry("gone", "yes")], Cancel);
        await Eventually.TrueAsync(() => _state["gone"] == "yes" && !moved.IsCompleted);
        await Replica.SettleAsync(leader, isDurable: true);

        var watcher = new TestSignal();
        Assert.True(leader.Watch(other, new QueueOffset(1), watcher));
        Assert.True(leader.TryGetQueue(other, out _));
        Assert.Single((await StoreTest.ReadAsync(leader, other, 0)).Entries);
        Assert.True(leader.TryGetQueue(_queue, out QueueView view));
        Assert.Equal(0, view.Start.Value);
        Assert.NotEmpty((await StoreTest.ReadAsync(leader, _queue, 0)).Entries);
        Assert.False(watcher.Task.IsCompleted);

        // What is staged holds for what is staged next, all the same.
        AppendItem[] late = [new() { Queue = other, Batch = TestBatch.Of("late"), TagBits = uint.MaxValue }];
        Assert.Equal(AppendStatus.Nothing, leader.Append(late, Durability.Policy, new TestWaiter()));
        Assert.Equal(ErrorCode.UnknownQueue, late[0].Error);

        leader.SetCommitted(leader.Watermarks.Written, leader.Watermarks.Durable);
        await removed;
        await moved;
        Assert.True(watcher.Task.IsCompleted);
        Assert.False(leader.TryGetQueue(other, out _));
        Assert.Equal(ErrorCode.UnknownQueue, (await StoreTest.ReadAsync(leader, other, 0)).Result.Error);
        Assert.Equal(ErrorCode.OffsetOutOfRange, (await StoreTest.ReadAsync(leader, _queue, 0)).Result.Error);
    }

    [Fact]
    public async Task GivenARemovalThatIsNotCommitted_WhenTheLeaderIsDeposedAndCut_ThenTheQueueLivesOn()
    {
        LogPosition committed;
        await using (QueueStore leader = await BegunAsync(FlushPolicy.Sync))
        {
            committed = leader.Watermarks.Staged;
            Task removed = leader.RemoveQueuesAsync([_queue], [], Cancel);
            await Replica.SettleAsync(leader, isDurable: true);
            Assert.Equal(ErrorCode.None, (await StoreTest.ReadAsync(leader, _queue, 0)).Result.Error);
            await leader.DisposeAsync();
            EQueueException ended = await Assert.ThrowsAsync<EQueueException>(() => removed);
            Assert.Equal(ErrorCode.ShuttingDown, ended.Code);
        }

        using (ReplicaFiles files = Replica.Open(_disk))
            files.CutTo(committed);
        await using QueueStore next = await Replica.LeadAsync(
            _disk, FlushPolicy.Sync, new MemoryState(), new Lead(20, committed, committed));
        Assert.Equal(3, (await StoreTest.ReadAllAsync(next, _queue)).Count);
    }

    [Fact]
    public async Task GivenSealedSegmentsThatAreNotCommitted_WhenTheyAreDurableHere_ThenNothingIsDerivedFromThem()
    {
        await using QueueStore leader = await BegunAsync(FlushPolicy.Sync);
        LogPosition committed = leader.Watermarks.Visible;
        int snapshots = LogFiles.Find(_disk, Replica.Logs, LogFiles.SnapshotSuffix).Count;
        while (leader.Figures.Segments < 3)
        {
            AppendItem[] items = [new() { Queue = _queue, Batch = TestBatch.OfSize(4_000, 1), TagBits = uint.MaxValue }];
            if (leader.Append(items, Durability.Written, new TestWaiter()) == AppendStatus.NoRoom)
            {
                // Nothing frees the ring while nothing is committed: the first part is.
                committed = leader.Watermarks.Written;
                leader.SetCommitted(committed, leader.Watermarks.Durable);
                await Replica.SettleAsync(leader, isDurable: true);
                continue;
            }

            await Replica.SettleAsync(leader, isDurable: true);
        }

        // Longer than whoever waits for the gate does: it must have tried.
        await Eventually.PassedAsync(TimeSpan.FromSeconds(3));
        Assert.True(leader.Watermarks.Staged > committed);
        Assert.All(DerivedEnds(), end => Assert.True(end <= committed, $"{end} is above {committed}"));
        leader.SetCommitted(leader.Watermarks.Written, leader.Watermarks.Durable);
        await Eventually.TrueAsync(() => LogFiles.Find(_disk, Replica.Logs, LogFiles.IndexSuffix).Count >= 2);
    }

    /// <summary>Where what indexes and snapshots cover ends.</summary>
    private IEnumerable<LogPosition> DerivedEnds()
    {
        StoreHeader.Read(_disk.ReadAll(LogFiles.StoreFile(CrashRun.Folder)), out StoreHeader? store);
        foreach (LogPosition from in LogFiles.Find(_disk, Replica.Logs, LogFiles.IndexSuffix))
        {
            string path = LogFiles.Index(Replica.Logs, from);
            Assert.Equal(FileVerdict.Valid, SealedIndex.TryOpen(_disk, path, store!.LogIds[0], from, out SealedIndex? index));
            using (index)
                yield return index!.Header.EndPosition;
        }

        foreach (LogPosition from in LogFiles.Find(_disk, Replica.Logs, LogFiles.SnapshotSuffix))
        {
            string path = LogFiles.Snapshot(Replica.Logs, from);
            Assert.Equal(FileVerdict.Valid, SnapshotReader.TryOpen(_disk, path, store!.LogIds[0], from, out SnapshotReader? snapshot));
            using (snapshot)
                yield return snapshot!.Header.EndPosition;
        }
    }

    /// <summary>Committed means written everywhere, with async flush: that alone is no ground to derive from.</summary>
    [Fact]
    public async Task GivenALeaderWithAsyncFlush_WhenAllHaveWritten_ThenNothingIsDerivedFromWhatAPowerCutWouldTake()
    {
        LogPosition end = await StoredAsync();
        StoreOptions options = CrashRun.OptionsOn(_disk, FlushPolicy.Async) with { FlushInterval = TimeSpan.FromMilliseconds(300) };
        await using QueueStore leader = await Replica.LeadAsync(
            _disk, FlushPolicy.Async, _state, new Lead(9, end, end), options);
        leader.StartLeading();
        var tooEarly = new List<string>();
        int derived = 0;
        _disk.OnChange = (kind, path) =>
        {
            bool isIndex = path.EndsWith(LogFiles.IndexSuffix + LogFiles.TemporarySuffix, StringComparison.Ordinal);
            bool isSnapshot = path.EndsWith(LogFiles.SnapshotSuffix + LogFiles.TemporarySuffix, StringComparison.Ordinal);
            if (kind != DiskOperationKind.Rename || !(isIndex || isSnapshot))
                return;
            SectionFileReader.TryOpen(
                _disk, path, isIndex ? SealedIndexWriter.Magic : SnapshotWriter.Magic, out SectionFileReader? file);
            using (file)
            {
                using ReplicaFiles left = Replica.Open(_disk.AfterPowerCut(1, PowerCutStyle.NothingUnsynced));
                Interlocked.Increment(ref derived);
                if (file!.Header.EndPosition > left.Tail.End)
                    tooEarly.Add($"{path} ends at {file.Header.EndPosition}, {left.Tail.End} would be left");
            }
        };
        for (int i = 0; leader.Figures.Segments < 4; i++)
        {
            AppendItem[] items = [new() { Queue = _queue, Batch = TestBatch.OfSize(3_000, i), TagBits = uint.MaxValue }];
            if (leader.Append(items, Durability.Written, new TestWaiter()) == AppendStatus.NoRoom)
                await leader.WaitForRoomAsync(Cancel);
            await Replica.SettleAsync(leader, isDurable: false);
            leader.SetCommitted(leader.Watermarks.Written, default);
        }

        await Eventually.TrueAsync(() =>
        {
            // Whoever wants it committed has it made durable.
            leader.SetCommitted(leader.Watermarks.Written, default);
            return Volatile.Read(ref derived) >= 2;
        });
        Assert.Empty(tooEarly);
    }

    [Fact]
    public async Task GivenEpochsWithoutMessages_WhenOpenedFromASnapshot_ThenTheirEndsAreKnown()
    {
        LogPosition end = await StoredAsync();
        var starts = new List<(int Epoch, LogPosition Start)>();
        for (int epoch = 9; epoch < 12; epoch++)
        {
            await using QueueStore leader = await Replica.LeadAsync(
                _disk, FlushPolicy.Sync, new MemoryState(), new Lead(epoch, end, end));
            starts.Add((epoch, leader.Watermarks.Staged));
            leader.StartLeading();
            TestWaiter state = new();
            Assert.Equal(AppendStatus.Accepted, leader.AppendState([MemoryState.Entry("epoch", $"{epoch}")], state));
            await CommittedAsync(leader, state);
            await leader.DisposeAsync();
            end = leader.Watermarks.Durable;
        }

        using ReplicaFiles files = Replica.Open(_disk);
        await using QueueStore last = await Replica.LeadAsync(
            _disk.Copy(), FlushPolicy.Sync, new MemoryState(), new Lead(20, end, end));
        for (int i = 0; i < starts.Count; i++)
        {
            LogPosition expected = i + 1 < starts.Count ? starts[i + 1].Start : end;
            Assert.Equal((starts[i].Epoch, expected), files.EndOfEpoch(starts[i].Epoch));
            Assert.Equal((starts[i].Epoch, expected), last.EndOfEpoch(starts[i].Epoch));
        }
    }

    [Fact]
    public async Task GivenMoreThanItHas_WhenItIsSaidToBeCommitted_ThenTheLeaderRefuses()
    {
        await using QueueStore leader = await BegunAsync(FlushPolicy.Sync);
        await Replica.SettleAsync(leader, isDurable: true);
        LogWatermarks marks = leader.Watermarks;
        var beyond = new LogPosition(marks.Written.Value + 1);
        Assert.Throws<ArgumentOutOfRangeException>(() => leader.SetCommitted(beyond, marks.Durable));
        Assert.Throws<ArgumentOutOfRangeException>(() => leader.SetCommitted(marks.Written, beyond));
    }

    [Fact]
    public async Task GivenALeaderThatHasNotBegun_WhenItIsAppendedTo_ThenThatIsAnError()
    {
        LogPosition end = await StoredAsync();
        await using QueueStore leader = await Replica.LeadAsync(_disk, FlushPolicy.Sync, _state, new Lead(9, end, end));
        Assert.Throws<InvalidOperationException>(() => Append(leader, Durability.Policy));
        LogPosition begun = leader.StartLeading();
        Assert.True(leader.Watermarks.Durable >= begun);
        Assert.Equal(9, leader.Epoch);
        Assert.Throws<InvalidOperationException>(() => leader.StartLeading());
    }

    [Fact]
    public async Task GivenAnEpochOrACommitThatDoesNotFit_WhenOpenedToLead_ThenItIsRefusedAndNothingIsTouched()
    {
        LogPosition end = await StoredAsync();
        string before = Describe();
        foreach (Lead wrong in (Lead[])[new(1, end, end), new(9, new LogPosition(end.Value + 1), end)])
        {
            await Assert.ThrowsAsync<ReplicaException>(
                () => Replica.LeadAsync(_disk, FlushPolicy.Sync, new MemoryState(), wrong));
            Assert.Equal(before, Describe());
        }
    }

    [Fact]
    public async Task GivenAHole_WhenOpenedToLead_ThenTheLogEndsThereThoughMoreWasDurable()
    {
        await StoredAsync();
        EntrySummary[] entries = [.. RecoveryTests.EntriesOf(_disk)];
        EntrySummary bad = entries.Last(entry => entry.Kind == EntryKind.Messages);
        _disk.Delete(LogFiles.CleanFile(CrashRun.Folder));
        foreach (LogPosition snapshot in LogFiles.Find(_disk, Replica.Logs, LogFiles.SnapshotSuffix))
            _disk.Delete(LogFiles.Snapshot(Replica.Logs, snapshot));
        _disk.FlipBit(LogFiles.Segment(Replica.Logs, default), SegmentHeader.Length + bad.Position.Value + 60, 1);
        await using QueueStore leader = await Replica.LeadAsync(
            _disk, FlushPolicy.Sync, _state, new Lead(9, default, bad.Position));
        Assert.Equal(bad.Position, leader.Watermarks.Staged);
    }

    [Fact]
    public async Task GivenATailThatIsNotCommitted_WhenOpenedToLead_ThenItIsThereAndNotVisible()
    {
        LogPosition end = await StoredAsync();
        foreach (LogPosition snapshot in LogFiles.Find(_disk, Replica.Logs, LogFiles.SnapshotSuffix))
            _disk.Delete(LogFiles.Snapshot(Replica.Logs, snapshot));
        LogPosition committed = RecoveryTests.EntriesOf(_disk).Last(entry => entry.Kind == EntryKind.Messages).Position;
        await using QueueStore leader = await Replica.LeadAsync(
            _disk, FlushPolicy.Sync, _state, new Lead(9, committed, end));
        Assert.Equal(2, (await StoreTest.ReadAllAsync(leader, _queue)).Count);
        LogPosition begun = leader.StartLeading();
        leader.SetCommitted(begun, begun);
        Assert.Equal(3, (await StoreTest.ReadAllAsync(leader, _queue)).Count);
    }

    private string Describe() => string.Join(
        '\n', _disk.Files.Select(path => $"{path} {Convert.ToHexString(System.Security.Cryptography.SHA256.HashData(_disk.ReadAll(path)))}"));

    /// <summary>A store of its own with three messages, closed.</summary>
    private async Task<LogPosition> StoredAsync()
    {
        await using QueueStore store = await CrashRun.OpenAsync(_disk, FlushPolicy.Sync, new MemoryState(), Cancel);
        _queue = (await store.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel))[0];
        for (int i = 0; i < 3; i++)
            await store.AppendAsync(_queue, TestBatch.Of($"message {i}"), Durability.Policy, Cancel);
        await store.DisposeAsync();
        return store.Watermarks.Durable;
    }

    private async Task<QueueStore> BegunAsync(FlushPolicy policy)
    {
        LogPosition end = await StoredAsync();
        QueueStore leader = await Replica.LeadAsync(_disk, policy, _state, new Lead(9, end, end));
        LogPosition begun = leader.StartLeading();
        leader.SetCommitted(begun, begun);
        return leader;
    }

    private static async Task<QueueId> OpenQueueAsync(QueueStore leader)
    {
        Task<QueueId[]> opened = leader.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel);
        await Eventually.TrueAsync(() =>
        {
            LogWatermarks marks = leader.Watermarks;
            leader.SetCommitted(marks.Written, marks.Durable);
            return opened.IsCompleted;
        });
        return (await opened)[0];
    }

    private static async Task CommittedAsync(QueueStore leader, TestWaiter waiter)
    {
        await Eventually.TrueAsync(() =>
        {
            LogWatermarks marks = leader.Watermarks;
            leader.SetCommitted(marks.Written, marks.Durable);
            return waiter.Task.IsCompleted;
        });
    }

    private TestWaiter Append(QueueStore leader, Durability durability, QueueId queue = default)
    {
        var waiter = new TestWaiter();
        AppendItem[] items =
            [new() { Queue = queue == default ? _queue : queue, Batch = TestBatch.Of("more"), TagBits = uint.MaxValue }];
        Assert.Equal(AppendStatus.Accepted, leader.Append(items, durability, waiter));
        return waiter;
    }
}
