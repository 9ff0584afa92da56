using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>A replica's files: bytes in, cut, read, copied; nothing that it has called durable is ever lost.</summary>
public sealed class ReplicaFilesTests
{
    private readonly SimulatedDisk _leading = new();
    private readonly SimulatedDisk _following = new();
    private QueueId _queue;

    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAWholeLog_WhenItIsFollowed_ThenBytesAndStateAreTheLeaders()
    {
        var state = new MemoryState();
        await using QueueStore leader = await LeadAsync(state);
        using (ReplicaFiles follower = Replica.Create(_following, leader))
        {
            await FillAsync(leader, follower, segments: 3);
            Assert.Equal(leader.Watermarks.Durable, follower.Durable);
            Assert.Equal(
                Replica.BytesOf(_leading, default, follower.Tail.End), Replica.BytesOf(_following, default, follower.Tail.End));
            Assert.True(follower.Holds(follower.Tail));
            follower.CloseInOrder();
        }

        LogPosition end = leader.Watermarks.Durable;
        var other = new MemoryState();
        await using QueueStore next = await Replica.LeadAsync(
            _following, FlushPolicy.Sync, other, new Lead(leader.Epoch + 1, end, end));
        Assert.Equal(state.ToString(), other.ToString());
        Assert.Equal(leader.Queues.Select(view => (view.Id, view.End)), next.Queues.Select(view => (view.Id, view.End)));
        List<TestBatch.Entry> expected = await StoreTest.ReadAllAsync(leader, _queue);
        List<TestBatch.Entry> found = await StoreTest.ReadAllAsync(next, _queue);
        Assert.Equal(expected.Select(entry => entry.Batch), found.Select(entry => entry.Batch));
    }

    [Fact]
    public async Task GivenAnAnswer_WhenAnyByteOfItIsWrong_ThenNothingOfItIsStored()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        using ReplicaFiles follower = Replica.Create(_following, leader);
        Append(leader, 3);
        await Replica.SettleAsync(leader, isDurable: true);
        Replica.FeedOnce(leader, follower, 16 << 10);
        byte[] bytes = new byte[16 << 10];
        int size = leader.ReadStored(follower.Tail.End, bytes, out _);
        byte[] stored = Replica.BytesOf(_following, default, new LogPosition(follower.Tail.End.Value + size));
        ReplicaTail before = follower.Tail;
        for (int i = 0; i < size; i++)
        {
            byte[] wrong = bytes[..size];
            wrong[i] ^= 1;
            Exception refused = Assert.ThrowsAny<Exception>(() => follower.AppendStored(wrong, leader.Epoch));
            Assert.True(refused is ReplicaException or StoreFormatException, refused.ToString());
            Assert.Equal(before, follower.Tail);
        }

        Assert.Throws<ReplicaException>(() => follower.AppendStored(bytes.AsSpan(0, size - 1), leader.Epoch));
        Assert.Throws<ReplicaException>(() => follower.AppendStored(bytes.AsSpan(0, size), leader.Epoch - 1));
        Assert.Equal(stored, Replica.BytesOf(_following, default, new LogPosition(before.End.Value + size)));
        follower.AppendStored(bytes.AsSpan(0, size), leader.Epoch);
        Assert.Throws<ReplicaException>(() => follower.AppendStored(bytes.AsSpan(0, size), leader.Epoch));

        // Whole entries, of which the last says that its group goes on.
        Append(leader, 1);
        await Replica.SettleAsync(leader, isDurable: true);
        size = leader.ReadStored(follower.Tail.End, bytes, out _);
        EntryHeader.Write(
            bytes,
            EntryHeader.Read(bytes) with { Flags = EntryFlags.More },
            EntryHeader.SeedOf(leader.LogId),
            bytes.AsSpan(EntryHeader.Length));
        Assert.Throws<ReplicaException>(() => follower.AppendStored(bytes.AsSpan(0, size), leader.Epoch));
    }

    [Fact]
    public async Task GivenALog_WhenItIsCutAtAnyEntry_ThenItEndsThereAndGrowsAgainAsTheLeaders()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        using ReplicaFiles follower = Replica.Create(_following, leader);
        await FillAsync(leader, follower, segments: 2);
        ReplicaTail whole = follower.Tail;
        EntrySummary[] entries = [.. RecoveryTests.EntriesOf(_following)];
        foreach (EntrySummary entry in entries.Reverse().Where((_, i) => i % 3 == 0))
        {
            Assert.Throws<ReplicaException>(() => follower.CutTo(new LogPosition(entry.Position.Value + 1)));
            follower.CutTo(entry.Position);
            Assert.Equal(entry.Position, follower.Tail.End);
            Assert.True(follower.Durable <= entry.Position && follower.Note.Durable <= entry.Position);
            Assert.True(leader.Holds(follower.Tail));
        }

        HasAll(leader, follower, whole.End);
    }

    /// <summary>A leader dies when its pack's index has its name and the pack has not; the next one packs the same
    /// segments, and gives its pack the same name.</summary>
    [Fact]
    public async Task GivenPacksOfTwoLeadersUnderOneName_WhenTheyAreCopied_ThenEachIndexIsOfItsPackAlone()
    {
        LogPosition end;
        QueueId gone;
        QueueStore first = await LeadAsync(new MemoryState());
        await using (first)
        {
            using ReplicaFiles follower = Replica.Create(_following, first);
            Task<QueueId[]> opening = first.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel);
            while (!opening.IsCompleted)
                await CommitAsync(first, follower);
            gone = (await opening)[0];
            for (int i = 0; first.Figures.Segments < 6; i++)
            {
                QueueId queue = i % 4 == 0 ? _queue : gone;
                AppendItem[] items =
                    [new() { Queue = queue, Batch = TestBatch.OfSize(3_000, i), TagBits = uint.MaxValue }];
                first.Append(items, Durability.Written, new TestWaiter());
                await CommitAsync(first, follower);
            }

            end = first.Watermarks.Visible;
        }

        SimulatedDisk[] disks = [_leading.Kill(), _leading.Kill()];
        string[] names = [await PackAsync(disks[0], 20, gone, kept: 0), await PackAsync(disks[1], 21, gone, kept: 2)];
        Assert.Equal(names[0], names[1]);
        string index = names[0] + LogFiles.IndexSuffix;
        byte[] other = disks[0].ReadAll(Path.Combine(Replica.Logs, index));

        SimulatedDisk second = disks[1].Kill();
        using (ReplicaFiles replica = Replica.Open(_following))
        using (ReplicaFiles source = Replica.Open(second))
        {
            byte[] bytes = new byte[64 << 10];
            while (source.Read(replica.Tail.End, bytes, out _) is var size and > 0)
                replica.AppendStored(bytes.AsSpan(0, size), 21);
            replica.Sync();
            end = replica.Tail.End;
            foreach (LogPosition snapshot in LogFiles.Find(second, Replica.Logs, LogFiles.SnapshotSuffix))
                Copy(second, replica, Path.GetFileName(LogFiles.Snapshot(Replica.Logs, snapshot)), end);

            Assert.False(replica.Follows(index));
            Assert.Throws<ReplicaException>(() => Copy(second, replica, index, end));
            Copy(second, replica, names[1], end);
            Assert.True(replica.Follows(index));
            Assert.Throws<ReplicaException>(() => Copy(other, replica, index, end));
            Copy(second, replica, index, end);
        }

        // One that has got beside it in an older build is made again.
        (SimulatedDisk whole, SimulatedDisk mixed) = (_following.Kill(), _following.Kill());
        using (IDiskFile file = mixed.Open(Path.Combine(Replica.Logs, index), DiskOpen.ReadWrite))
        {
            file.Truncate(0);
            file.Write(other, 0);
            file.Sync();
        }

        await using QueueStore right = await Replica.LeadAsync(
            whole, FlushPolicy.Sync, new MemoryState(), new Lead(30, end, end));
        await using QueueStore healed = await Replica.LeadAsync(
            mixed, FlushPolicy.Sync, new MemoryState(), new Lead(30, end, end));
        Assert.NotEqual(other, mixed.ReadAll(Path.Combine(Replica.Logs, index)));
        List<TestBatch.Entry> expected = await StoreTest.ReadAllAsync(right, _queue, 2);
        List<TestBatch.Entry> found = await StoreTest.ReadAllAsync(healed, _queue, 2);
        Assert.True(expected.Count > 5);
        Assert.Equal(expected.Select(entry => entry.Batch), found.Select(entry => entry.Batch));

        async Task<string> PackAsync(SimulatedDisk disk, int epoch, QueueId going, long kept)
        {
            await using QueueStore store = await Replica.LeadAsync(
                disk, FlushPolicy.Sync, new MemoryState(), new Lead(epoch, end, end));
            store.StartLeading();
            Assert.True(store.TryGetQueue(going, out QueueView view));
            Task moving = store.MoveStartsAsync([(going, view.End), (_queue, new QueueOffset(kept))], Cancel);
            await Eventually.TrueAsync(async () =>
            {
                await Replica.SettleAsync(store, isDurable: true);
                store.SetCommitted(store.Watermarks.Written, store.Watermarks.Durable);
                return moving.IsCompleted && store.Figures.SegmentsPacked > 0;
            });
            return disk.Files.Select(Path.GetFileName).First(name => name!.EndsWith(PackFile.Suffix, StringComparison.Ordinal))!;
        }

        static async Task CommitAsync(QueueStore leader, ReplicaFiles follower)
        {
            await Replica.SettleAsync(leader, isDurable: true);
            Replica.Feed(leader, follower);
            follower.Sync();
            leader.SetCommitted(follower.Tail.End, follower.Durable);
        }
    }

    /// <summary>The old leader has sealed the segment itself; the new one, which was not given that, has no room left
    /// in it for its epoch.</summary>
    [Fact]
    public async Task GivenASegmentWithoutRoomForAnEpoch_WhenTheFollowerLeads_ThenTheOldLeaderIsCutAndFollows()
    {
        var lost = new MemoryState();
        QueueStore leader = await LeadAsync(new MemoryState());
        LogPosition end;
        LogPosition durable;
        await using (leader)
        {
            using ReplicaFiles follower = Replica.Create(_following, leader);
            long capacity = CrashRun.OptionsOn(_leading, FlushPolicy.Sync).SegmentSizeBytes;
            long overhead = await AppendAsync(3_000) - 3_000;
            while (capacity - leader.Watermarks.Written.Value > 8_000)
                await AppendAsync(3_000);
            long room = capacity - leader.Watermarks.Written.Value;
            await AppendAsync((int)(room - overhead - (EntryHeader.Length + 12)));
            Assert.Equal(EntryHeader.Length + 12, capacity - leader.Watermarks.Written.Value);
            (end, durable) = (follower.Tail.End, follower.Durable);
            await AppendAsync(3_000, isFed: false);
            Assert.Equal(2, leader.Figures.Segments);

            async Task<long> AppendAsync(int size, bool isFed = true)
            {
                LogPosition before = leader.Watermarks.Written;
                AppendItem[] items =
                    [new() { Queue = _queue, Batch = TestBatch.OfSize(size, 1), TagBits = uint.MaxValue }];
                // The next segment may not be made yet.
                while (leader.Append(items, Durability.Written, new TestWaiter()) is var status
                    && status != AppendStatus.Accepted)
                {
                    Assert.Equal(AppendStatus.NoRoom, status);
                    await leader.WaitForRoomAsync(TestContext.Current.CancellationToken);
                }

                await Replica.SettleAsync(leader, isDurable: true);
                if (isFed)
                {
                    Replica.Feed(leader, follower);
                    follower.Sync();
                    leader.SetCommitted(follower.Tail.End, follower.Durable);
                }

                return leader.Watermarks.Written.Value - before.Value;
            }
        }

        SimulatedDisk deposed = _leading.Kill();
        await using QueueStore next = await Replica.LeadAsync(
            _following, FlushPolicy.Sync, lost, new Lead(20, end, durable));
        LogPosition begun = next.StartLeading();
        Assert.Equal((9, end), next.EndOfEpoch(19));
        using ReplicaFiles old = Replica.Open(deposed);
        Assert.True(old.Tail.End > end);
        Assert.True(Replica.Match(next, old));
        Assert.Equal(end, old.Tail.End);
        Replica.Feed(next, old);
        Assert.Equal(begun, old.Tail.End);
        Assert.Equal(Replica.BytesOf(_following, default, begun), Replica.BytesOf(deposed, default, begun));

        // Both know where the epoch began and by which mark, before and after a start.
        Assert.Equal((20, begun), old.EndOfEpoch(25));
        Assert.Equal((9, end), old.EndOfEpoch(19));
        old.Sync();
        next.SetCommitted(begun, begun);
        LogHistory told = next.History;
        old.Dispose();
        await using QueueStore later = await Replica.LeadAsync(
            deposed.Kill(), FlushPolicy.Sync, new MemoryState(), new Lead(21, begun, begun));
        later.StartLeading();
        Assert.Equal((9, end), later.EndOfEpoch(19));
        Assert.Equal(told.Epochs, later.History.Epochs.Take(told.Epochs.Count));
    }

    /// <summary>The index of a seal that was never committed must not answer for what is stored in its place.</summary>
    [Fact]
    public async Task GivenACutSealedSegment_WhenItIsFilledWithMessagesOfEqualSize_ThenEveryMessageIsReadable()
    {
        LogPosition committed;
        QueueStore first = await LeadAsync(new MemoryState());
        await using (first)
        {
            committed = first.Watermarks.Durable;
            while (first.Figures.Segments < 2)
            {
                AppendSized(first, seed: 1);
                await Replica.SettleAsync(first, isDurable: true);
                first.SetCommitted(first.Watermarks.Written, first.Watermarks.Durable);
            }

            await Eventually.TrueAsync(() => LogFiles.Find(_leading, Replica.Logs, LogFiles.IndexSuffix).Count > 0);
        }

        SimulatedDisk disk = _leading.Kill();
        using (ReplicaFiles files = Replica.Open(disk))
            files.CutTo(committed);
        disk = disk.Kill();
        List<string> bodies = [];
        await using (QueueStore second = await Replica.LeadAsync(
            disk, FlushPolicy.Sync, new MemoryState(), new Lead(30, committed, committed)))
        {
            second.StartLeading();
            disk.OnChange = (kind, path) =>
            {
                if (kind == DiskOperationKind.Rename && path.EndsWith(".index.tmp", StringComparison.Ordinal))
                    throw new DiskException(DiskFault.Io, path, "rename", "crashed before the index");
            };
            while (second.Figures.Segments < 2)
            {
                AppendSized(second, seed: 2);
                await Replica.SettleAsync(second, isDurable: true);
                second.SetCommitted(second.Watermarks.Written, second.Watermarks.Durable);
            }

            bodies.AddRange((await StoreTest.ReadAllAsync(second, _queue)).Select(entry => Convert.ToHexString(entry.Batch)));
        }

        disk = disk.Kill();
        await using QueueStore again = await Replica.LeadAsync(
            disk, FlushPolicy.Sync, new MemoryState(), new Lead(31, committed, committed));
        LogPosition begun = again.StartLeading();
        again.SetCommitted(begun, begun);
        Assert.Equal(bodies, (await StoreTest.ReadAllAsync(again, _queue)).Select(entry => Convert.ToHexString(entry.Batch)));
    }

    /// <summary>The entries of a leader say that all before them is durable; nothing of that is so here.</summary>
    [Fact]
    public async Task GivenACopyWithoutSync_WhenItsProcessDiesAndLaterThePower_ThenWhatItCalledDurableIsThere()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        ReplicaFiles follower = Replica.Create(_following, leader);
        await FillAsync(leader, follower, segments: 3, isSynced: false);
        follower.Dispose();
        for (int seed = 0; seed < 5; seed++)
        {
            SimulatedDisk disk = _following.Copy();
            disk = _following.KillProcess();
            LogPosition durable;
            using (ReplicaFiles again = Replica.Open(disk))
                durable = again.Durable;
            disk = disk.CutPower(seed);
            using ReplicaFiles last = Replica.Open(disk);
            Assert.True(last.IsWhole);
            Assert.True(last.Tail.End >= durable, $"{last.Tail.End} of {durable} is left");
        }
    }

    [Fact]
    public async Task GivenACutAndARefillWithoutSync_WhenThePowerGoes_ThenTheNoteClaimsNoMoreThanIsThere()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        ReplicaFiles follower = Replica.Create(_following, leader);
        await FillAsync(leader, follower, segments: 1);
        EntrySummary[] entries = [.. RecoveryTests.EntriesOf(_following)];
        follower.CutTo(entries[entries.Length / 2].Position);
        Replica.Feed(leader, follower);
        Assert.True(follower.Note.Durable <= entries[entries.Length / 2].Position);
        for (int seed = 0; seed < 20; seed++)
        {
            using ReplicaFiles again = Replica.Open(_following.AfterPowerCut(seed));
            Assert.True(again.IsWhole, $"seed {seed}: {again.Tail.End} of {again.Note.Durable}");
        }
    }

    [Fact]
    public async Task GivenAClockThatStands_WhenASegmentEnds_ThenWhatIsDurableIsNotedBeforeItIsTold()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        Replica.Create(_following, leader).Dispose();
        var time = new SteppedTime();
        using ReplicaFiles follower = Replica.Open(_following, time);
        LogPosition noted = follower.Note.Durable;
        int segments = 1;
        while (segments < 3)
        {
            AppendSized(leader, segments);
            await Replica.SettleAsync(leader, isDurable: true);
            Replica.Feed(leader, follower);
            follower.Sync();
            Assert.Equal(follower.Tail.End, follower.Durable);
            leader.SetCommitted(follower.Tail.End, leader.Watermarks.Durable);
            List<LogPosition> bases = LogFiles.Find(_following, Replica.Logs, LogFiles.SegmentSuffix);
            Assert.True(bases.Count == segments ? follower.Note.Durable == noted : follower.Note.Durable >= bases[^1]);
            (segments, noted) = (bases.Count, follower.Note.Durable);
        }
    }

    [Fact]
    public void GivenGroups_WhenAnAnswerIsCut_ThenNoneOfThemIsSplit()
    {
        byte[] bytes = new byte[10 * EntryHeader.Length];
        for (int i = 0; i < 10; i++)
        {
            var header = new EntryHeader
            {
                Size = EntryHeader.Length,
                Position = new LogPosition(i * EntryHeader.Length),
                Queue = QueueId.State,
                Epoch = 1,
                StoredTimeMs = 1,
                Kind = i is 0 or 9 ? EntryKind.EpochStart : i == 8 ? EntryKind.Seal : EntryKind.Messages,
                Flags = i is 2 or 3 or 4 ? EntryFlags.More : EntryFlags.None,
            };
            EntryHeader.Write(bytes.AsSpan(i * EntryHeader.Length), header, 0, default);
        }

        // 0 | 1 | 2 3 4 5 | 6 | 7 | 8, and what follows the seal is another answer's.
        int[] whole = [0, 1, 2, 2, 2, 2, 6, 7, 8, 9, 9];
        for (int length = 0; length <= 10; length++)
        {
            int size = length * EntryHeader.Length;
            Assert.Equal(
                whole[length] * EntryHeader.Length, StoredEntries.CountWhole(bytes.AsSpan(0, size), default, out int needed));
            Assert.Equal(0, needed);
        }

        // A group that is larger than what was asked for says how much it needs at least.
        ReadOnlySpan<byte> group = bytes.AsSpan(2 * EntryHeader.Length, 2 * EntryHeader.Length);
        Assert.Equal(0, StoredEntries.CountWhole(group, new LogPosition(2 * EntryHeader.Length), out int more));
        Assert.Equal(3 * EntryHeader.Length, more);
        // The start of an epoch is given alone at the front only.
        Assert.Equal(
            EntryHeader.Length,
            StoredEntries.CountWhole(bytes.AsSpan(9 * EntryHeader.Length), new LogPosition(9 * EntryHeader.Length), out _));
    }

    [Fact]
    public async Task GivenAHoleAndWholeEntriesBehindIt_WhenOpened_ThenTheLogEndsAtTheHole()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        ReplicaTail whole;
        using (ReplicaFiles follower = Replica.Create(_following, leader))
        {
            await FillAsync(leader, follower, segments: 3);
            whole = follower.Tail;
        }

        EntrySummary bad = RecoveryTests.EntriesOf(_following).First(entry => entry.Kind == EntryKind.Messages);
        _following.FlipBit(
            LogFiles.Segment(Replica.Logs, default), SegmentHeader.Length + bad.Position.Value + bad.Size - 1, 0);
        using ReplicaFiles again = Replica.Open(_following);
        Assert.Equal(bad.Position, again.Tail.End);
        Assert.False(again.IsWhole);

        // What is behind stays until the log goes on.
        Assert.Equal(3, LogFiles.Find(_following, Replica.Logs, LogFiles.SegmentSuffix).Count);
        HasAll(leader, again, whole.End);
    }

    [Fact]
    public async Task GivenTheFileReplica_WhenOneSlotIsTorn_ThenTheOtherCountsAndBothAreTold()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        using (ReplicaFiles follower = Replica.Create(_following, leader))
        {
            follower.Persist(new byte[] { 1 });
            follower.Persist(new byte[] { 2 });
            Assert.Throws<InvalidOperationException>(() => follower.Persist(new byte[ReplicaNote.MostRecordBytes + 1]));
        }

        string path = Path.Combine(CrashRun.Folder, ReplicaNote.FileName);
        byte[] bytes = _following.ReadAll(path);
        for (int slot = 0; slot < 2; slot++)
        {
            SimulatedDisk disk = _following.Copy();
            ReplicaNote.Read(bytes.AsSpan(slot * ReplicaNote.SlotSize, ReplicaNote.SlotSize), out _, out ReplicaNote? gone);
            disk.FlipBit(path, (slot * ReplicaNote.SlotSize) + 57, 0);
            disk.FlipBit(path, (slot * ReplicaNote.SlotSize) + 25, 0);
            using ReplicaFiles again = Replica.Open(disk);
            Assert.Equal(gone!.Record.Span[0] == 1 ? 2 : 1, again.Note.Record.Span[0]);
        }

        SimulatedDisk none = _following.Copy();
        none.FlipBit(path, 25, 0);
        none.FlipBit(path, ReplicaNote.SlotSize + 25, 0);
        Assert.Throws<StoreFormatException>(() => Replica.Open(none));
        SimulatedDisk later = _following.Copy();
        foreach (int slot in (int[])[0, ReplicaNote.SlotSize])
        {
            bytes[slot + 8] = 2;
            int used = BitConverter.ToUInt16(bytes, slot + 10) - 4;
            BitConverter.GetBytes(Crc32C.Compute(bytes.AsSpan(slot, used))).CopyTo(bytes, slot + used);
        }

        later.WriteAll(path, bytes);
        Assert.Throws<StoreFormatException>(() => Replica.Open(later));
    }

    [Fact]
    public async Task GivenFilesDerivedFromMore_WhenTheyAreCopied_ThenTheyAreRefusedUntilItIsCommittedAndDurableHere()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        using ReplicaFiles follower = Replica.Create(_following, leader);
        await FillAsync(leader, follower, segments: 3);
        await Eventually.TrueAsync(() => LogFiles.Find(_leading, Replica.Logs, LogFiles.IndexSuffix).Count >= 2);
        LogPosition end = follower.Tail.End;
        string name = Path.GetFileName(LogFiles.Index(Replica.Logs, default));
        LogPosition sealedTo = LogFiles.Find(_leading, Replica.Logs, LogFiles.SegmentSuffix)[1];
        var below = new LogPosition(sealedTo.Value - 1);

        Assert.Throws<ReplicaException>(() => Copy(_leading, follower, name, below));
        Assert.DoesNotContain(_following.Files, path => path.EndsWith(LogFiles.TemporarySuffix, StringComparison.Ordinal));
        Copy(_leading, follower, name, sealedTo);
        Assert.Contains(follower.ListFiles(end), file => file.Name == name);
        Assert.DoesNotContain(follower.ListFiles(below), file => file.Name == name);

        // Committed and written, but not durable here.
        follower.CutTo(default);
        Assert.DoesNotContain(LogFiles.Find(_following, Replica.Logs, LogFiles.IndexSuffix), position => position == default);
        Replica.Feed(leader, follower);
        Assert.Throws<ReplicaException>(() => Copy(_leading, follower, name, end));
        follower.Sync();
        Copy(_leading, follower, name, end);

        byte[] wrong = _leading.ReadAll(Path.Combine(Replica.Logs, name));
        wrong[^1] ^= 1;
        Assert.Throws<ReplicaException>(() => Copy(wrong, follower, name, end));
        Assert.Throws<ReplicaException>(() => follower.BeginCopy("../store"));
        Assert.Throws<ReplicaException>(() => follower.RemoveBelow(sealedTo, below));

        // The state is replayed from the newest snapshot on.
        follower.RemoveBelow(sealedTo, end);
        Assert.Equal(default, follower.Begin);
        SimulatedDisk files = await WithSnapshotAtAsync(sealedTo);
        LogPosition snapshot = LogFiles.Find(files, Replica.Logs, LogFiles.SnapshotSuffix)[^1];
        Copy(files, follower, Path.GetFileName(LogFiles.Snapshot(Replica.Logs, snapshot)), end);
        follower.RemoveBelow(sealedTo, end);
        Assert.Equal(sealedTo, follower.Begin);
        Assert.Equal(-1, follower.Read(default, new byte[1024], out _));
    }

    [Fact]
    public async Task GivenANewcomer_WhenFilesAreCopiedAndTheTailIsFollowed_ThenItLeadsWithTheSameMessages()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        using (ReplicaFiles other = Replica.Create(new SimulatedDisk(), leader))
            await FillAsync(leader, other, segments: 4);
        await Eventually.TrueAsync(() => LogFiles.Find(_leading, Replica.Logs, LogFiles.IndexSuffix).Count >= 3);
        LogPosition end = leader.Watermarks.Durable;
        using (ReplicaFiles newcomer = Replica.Create(_following, leader))
        {
            newcomer.BeginCopying();
            foreach (LogPosition segment in LogFiles.Find(_leading, Replica.Logs, LogFiles.SegmentSuffix).SkipLast(1))
            {
                Copy(_leading, newcomer, Path.GetFileName(LogFiles.Segment(Replica.Logs, segment)), end);
                Copy(_leading, newcomer, Path.GetFileName(LogFiles.Index(Replica.Logs, segment)), end);
            }

            SimulatedDisk files = await WithSnapshotAtAsync(newcomer.Tail.End);
            LogPosition snapshot = LogFiles.Find(files, Replica.Logs, LogFiles.SnapshotSuffix)[^1];
            Copy(files, newcomer, Path.GetFileName(LogFiles.Snapshot(Replica.Logs, snapshot)), end);
            Assert.False(Replica.Open(_following.Copy()).IsWhole);
            Assert.Null(newcomer.EndCopying(default));

            // Killed now, it would have a snapshot of more than it has.
            Assert.True(newcomer.Note.IsCopying);
            Replica.Feed(leader, newcomer);
            Assert.True(newcomer.Note.IsCopying);
            newcomer.Sync();
            Assert.False(newcomer.Note.IsCopying);
            Assert.True(leader.Holds(newcomer.Tail));
        }

        await using QueueStore next = await Replica.LeadAsync(
            _following, FlushPolicy.Sync, new MemoryState(), new Lead(leader.Epoch + 1, end, end));
        Assert.Equal(
            (await StoreTest.ReadAllAsync(leader, _queue)).Select(entry => entry.Batch),
            (await StoreTest.ReadAllAsync(next, _queue)).Select(entry => entry.Batch));
    }

    [Fact]
    public async Task GivenALeaderWithoutFilesToCopy_WhenTheCopyEnds_ThenTheLogCountsAtOnce()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        using ReplicaFiles newcomer = Replica.Create(_following, leader);
        newcomer.BeginCopying();
        Assert.Null(newcomer.EndCopying(default));
        Assert.False(newcomer.Note.IsCopying);
        Assert.Throws<InvalidOperationException>(() => newcomer.EndCopying(default));
    }

    [Theory]
    [InlineData(0, "the log begins at 0, and here at")]
    [InlineData(1, "nothing is here of")]
    public async Task GivenANewcomerWithoutAPiece_WhenTheCopyEnds_ThenItIsSaidWhatIsMissing(int missing, string said)
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        using ReplicaFiles other = Replica.Create(new SimulatedDisk(), leader);
        await FillAsync(leader, other, segments: 4);
        LogPosition end = leader.Watermarks.Durable;
        List<LogPosition> bases = LogFiles.Find(_leading, Replica.Logs, LogFiles.SegmentSuffix);
        using ReplicaFiles newcomer = Replica.Create(_following, leader);
        newcomer.BeginCopying();
        for (int i = 0; i < bases.Count - 1; i++)
        {
            // A pack may stand anywhere; a segment that does not follow is refused.
            if (i == missing)
                continue;
            string pack = Path.GetFileName(PackFile.PathOf(Replica.Logs, bases[i], 0));
            Copy(ReplicaPackTests.PackOf(_leading, bases[i], bases[i + 1]), newcomer, pack, end);
        }

        Assert.Contains(said, newcomer.EndCopying(default), StringComparison.Ordinal);
        Assert.True(newcomer.Note.IsCopying);
    }

    [Fact]
    public async Task GivenSegmentsThatEndEarly_WhenTheyAreSealed_ThenAFollowerKeepsNoRoomBehindThem()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        Replica.Create(_following, leader).Dispose();
        ReplicaFilesOptions wide = Replica.FilesOn(_following) with
        {
            SegmentSizeBytes = 64L << 20,
            LeastSegmentBytes = 1 << 20,
        };
        _following.Free = 128L << 20;
        using (ReplicaFiles follower = Replica.Open(wide))
        {
            await FillAsync(leader, follower, segments: 3);

            // The last one fits the volume.
            long[] sizes = Sizes();
            Assert.InRange(sizes[^1], 1 << 20, 8 << 20);
            Assert.Equal(Used(), sizes.SkipLast(1));
        }

        string first = LogFiles.Segment(Replica.Logs, default);
        _following.WriteAll(first, [.. _following.ReadAll(first), .. new byte[100_000]]);
        Replica.Open(wide).Dispose();
        Assert.Equal(Used(), Sizes().SkipLast(1));

        long[] Sizes() =>
            [.. Bases().Select(position => (long)_following.ReadAll(LogFiles.Segment(Replica.Logs, position)).Length)];

        IEnumerable<long> Used() =>
            Bases().Zip(Bases().Skip(1), (one, next) => SegmentHeader.Length + next.Value - one.Value);

        List<LogPosition> Bases() => LogFiles.Find(_following, Replica.Logs, LogFiles.SegmentSuffix);
    }

    [Fact]
    public async Task GivenTwoSnapshots_WhenTheLeaderHasAnOlderOne_ThenItIsNotWanted()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        using ReplicaFiles follower = Replica.Create(_following, leader);
        await FillAsync(leader, follower, segments: 3);
        await Eventually.TrueAsync(() => LogFiles.Find(_leading, Replica.Logs, LogFiles.SnapshotSuffix).Count == 2);
        SimulatedDisk files = _leading.Copy();
        List<LogPosition> snapshots = [.. LogFiles.Find(files, Replica.Logs, LogFiles.SnapshotSuffix).TakeLast(2)];
        foreach (LogPosition snapshot in snapshots)
        {
            Assert.True(follower.Follows(NameOf(snapshot)));
            Copy(files, follower, NameOf(snapshot), follower.Tail.End);
        }

        Assert.False(follower.Follows(NameOf(new LogPosition(snapshots[0].Value - 1))));
        Assert.True(follower.Follows(NameOf(new LogPosition(snapshots[0].Value + 1))));

        static string NameOf(LogPosition start) => Path.GetFileName(LogFiles.Snapshot(Replica.Logs, start));
    }

    [Fact]
    public async Task GivenALeaderWithoutOlderFiles_WhenANewcomerBegins_ThenItsLogBeginsWhereTheLeadersDoes()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        using (ReplicaFiles other = Replica.Create(new SimulatedDisk(), leader))
            await FillAsync(leader, other, segments: 3);
        LogPosition begin = LogFiles.Find(_leading, Replica.Logs, LogFiles.SegmentSuffix)[^1];
        SimulatedDisk files = await WithSnapshotAtAsync(begin);
        ReplicaTail tail;
        using (ReplicaFiles newcomer = Replica.Create(_following, leader))
        {
            Assert.Throws<ReplicaException>(() => newcomer.BeginAt(begin));
            newcomer.BeginCopying();
            newcomer.BeginAt(begin);
            Assert.Contains("no snapshot is here", newcomer.EndCopying(begin), StringComparison.Ordinal);
            foreach (LogPosition snapshot in LogFiles.Find(files, Replica.Logs, LogFiles.SnapshotSuffix))
            {
                Copy(
                    files, newcomer, Path.GetFileName(LogFiles.Snapshot(Replica.Logs, snapshot)),
                    leader.Watermarks.Durable);
            }

            Assert.Null(newcomer.EndCopying(begin));
            Assert.False(Replica.Open(_following.Copy()).IsWhole);
            Replica.Feed(leader, newcomer);
            newcomer.Sync();
            Assert.Throws<ReplicaException>(() => newcomer.BeginAt(begin));
            Assert.True(leader.Holds(newcomer.Tail));
            tail = newcomer.Tail;
        }

        using ReplicaFiles again = Replica.Open(_following.CutPower(seed: 3));
        Assert.True(again.IsWhole);
        Assert.Equal((begin, tail), (again.Begin, again.Tail));
        Assert.Equal(Replica.BytesOf(_leading, begin, tail.End), Replica.BytesOf(_following.Copy(), begin, tail.End));
    }

    [Fact]
    public async Task GivenAFullDisk_WhenAnAnswerIsStored_ThenItIsTriedAgainWhenThereIsRoom()
    {
        await using QueueStore leader = await LeadAsync(new MemoryState());
        using ReplicaFiles follower = Replica.Create(_following, leader);
        Append(leader, 5);
        await Replica.SettleAsync(leader, isDurable: true);
        _following.LargestFile = 1 << 10;
        Assert.Equal(DiskFault.Full, Assert.Throws<DiskException>(() => Replica.Feed(leader, follower)).Fault);
        Assert.Equal(default, follower.Tail.End);
        _following.LargestFile = 1 << 30;
        HasAll(leader, follower, leader.Watermarks.Written);
    }

    /// <summary>Feeds the follower: it has the leader's bytes up to <paramref name="least"/>, and what the leader stored
    /// by itself since then.</summary>
    private void HasAll(QueueStore leader, ReplicaFiles follower, LogPosition least)
    {
        Replica.Feed(leader, follower);
        follower.Sync();
        LogPosition end = follower.Tail.End;
        Assert.InRange(end.Value, least.Value, leader.Watermarks.Staged.Value);
        Assert.Equal(Replica.BytesOf(_leading, default, end), Replica.BytesOf(_following, default, end));
    }

    private static void Copy(SimulatedDisk from, ReplicaFiles to, string name, LogPosition committed) =>
        Copy(from.ReadAll(Path.Combine(Replica.Logs, name)), to, name, committed);

    private static void Copy(byte[] bytes, ReplicaFiles to, string name, LogPosition committed)
    {
        using ReplicaCopy copy = to.BeginCopy(name);
        for (int done = 0; done < bytes.Length; done += 10_000)
            copy.Write(bytes.AsSpan(done, Math.Min(10_000, bytes.Length - done)));
        copy.Complete(committed);
    }

    /// <summary>The leader's files as they are once its newest snapshot begins there or behind it: the leader replaces
    /// its snapshots.</summary>
    private async Task<SimulatedDisk> WithSnapshotAtAsync(LogPosition least)
    {
        SimulatedDisk files = _leading.Copy();
        await Eventually.TrueAsync(() =>
        {
            files = _leading.Copy();
            return LogFiles.Find(files, Replica.Logs, LogFiles.SnapshotSuffix) is [.., var newest] && newest >= least;
        });
        return files;
    }

    private async Task<QueueStore> LeadAsync(MemoryState state)
    {
        (QueueStore leader, _queue) = await Replica.BeginAsync(_leading, FlushPolicy.Sync, state);
        return leader;
    }

    private void Append(QueueStore leader, int count)
    {
        for (int i = 0; i < count; i++)
        {
            AppendItem[] items = [new() { Queue = _queue, Batch = TestBatch.Of($"message {i}"), TagBits = uint.MaxValue }];
            Assert.Equal(AppendStatus.Accepted, leader.Append(items, Durability.Written, new TestWaiter()));
        }
    }

    private void AppendSized(QueueStore leader, int seed)
    {
        AppendItem[] items = [new() { Queue = _queue, Batch = TestBatch.OfSize(3_000, seed), TagBits = uint.MaxValue }];
        _ = leader.Append(items, Durability.Written, new TestWaiter());
    }

    /// <summary>Appends until the log has so many segments, and has a follower come along.</summary>
    private async Task FillAsync(QueueStore leader, ReplicaFiles follower, int segments, bool isSynced = true)
    {
        for (int i = 0; i < 12 || leader.Figures.Segments < segments; i++)
        {
            AppendSized(leader, i);
            await Replica.SettleAsync(leader, isDurable: true);
            Replica.Feed(leader, follower);
            if (isSynced)
                follower.Sync();
            leader.SetCommitted(follower.Tail.End, leader.Watermarks.Durable);
        }

        Replica.Feed(leader, follower);
        if (isSynced)
            follower.Sync();
    }
}
