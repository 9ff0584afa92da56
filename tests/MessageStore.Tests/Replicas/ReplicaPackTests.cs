using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>Packs of several leaders meet at one replica. Each leader packs what it sees fit, from where it sees fit, and
/// counts generations of its own.</summary>
public sealed class ReplicaPackTests
{
    private const int Segments = 6;

    private readonly SimulatedDisk _leading = new();

    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    /// <param name="packs">What comes, in this order: <c>first segment-segment behind the last.generation</c>, with
    /// <c>!</c> where it is to be refused.</param>
    [Theory]
    [InlineData("0-3.0 2-5.0! 0-5.0! 0-5.1")]
    [InlineData("2-5.0 0-3.0! 1-4.3! 0-5.0")]
    [InlineData("0-5.0 0-3.1! 2-5.1! 1-4.2! 0-5.1")]
    [InlineData("1-3.7 0-5.0")]
    [InlineData("0-3.7 0-5.0 0-5.0!")]
    [InlineData("0-3.7 0-3.5! 0-3.8 3-5.0")]
    [InlineData("1-2.0 3-4.9 2-3.0 0-2.0 1-4.1! 2-4.1 2-5.0")]
    [InlineData("0-1.0 1-2.0 0-2.1 1-3.0! 2-5.1 0-5.0")]
    public async Task GivenPacksOfSeveralLeaders_WhenTheyCome_ThenNothingIsGoneOrThereTwiceWheneverItIsKilled(string packs)
    {
        List<byte[]> expected = await FillAsync();
        List<LogPosition> bases = LogFiles.Find(_leading, Replica.Logs, LogFiles.SegmentSuffix);
        SimulatedDisk following = _leading.Copy();
        foreach (string word in packs.Split(' '))
        {
            string[] parts = word.TrimEnd('!').Split('-', '.');
            byte[] bytes = PackOf(_leading, bases[int.Parse(parts[0])], bases[int.Parse(parts[1])]);
            string path = PackFile.PathOf(Replica.Logs, bases[int.Parse(parts[0])], int.Parse(parts[2]));
            SimulatedDisk before = following.Copy();
            if (word.EndsWith('!'))
            {
                ReplicaException refusal = Assert.Throws<ReplicaException>(() => Take(following, path, bytes));
                Assert.Contains(Path.Combine(Replica.Logs, refusal.InTheWay!), following.Files);
                Assert.Equal(before.Files, following.Files);
            }
            else
            {
                Take(following, path, bytes);
                Assert.Contains(path, following.Files);

                // It has its name; of what it replaces nothing, or one file, is gone.
                before.WriteAll(path, bytes);
                await CheckAsync(before, expected);
                foreach (string gone in before.Files.Except(following.Files))
                {
                    SimulatedDisk killed = before.Copy();
                    killed.Delete(gone);
                    await CheckAsync(killed, expected);
                }
            }

            await CheckAsync(following, expected);
        }
    }

    /// <summary>A pack has nothing of the state: what is needed for it goes when a snapshot has it.</summary>
    [Fact]
    public async Task GivenAPackBeforeTheSnapshotThatItWasMadeBehind_WhenItComes_ThenItWaits()
    {
        List<byte[]> expected = await FillAsync();
        List<LogPosition> bases = LogFiles.Find(_leading, Replica.Logs, LogFiles.SegmentSuffix);
        List<LogPosition> snapshots = LogFiles.Find(_leading, Replica.Logs, LogFiles.SnapshotSuffix);
        SimulatedDisk following = _leading.Copy();
        foreach (LogPosition snapshot in snapshots)
            following.Delete(LogFiles.Snapshot(Replica.Logs, snapshot));
        byte[] pack = PackOf(_leading, bases[0], bases[^1]);
        string path = PackFile.PathOf(Replica.Logs, bases[0], 0);

        Assert.Null(Assert.Throws<ReplicaException>(() => Take(following, path, pack)).InTheWay);
        await CheckAsync(following, expected);
        string last = LogFiles.Snapshot(Replica.Logs, snapshots[^1]);
        Take(following, last, _leading.ReadAll(last));
        Take(following, path, pack);
        await CheckAsync(following, expected);
    }

    /// <summary>The leader's copy rots: a replica that has the entries itself keeps them, a newcomer has no
    /// better.</summary>
    [Fact]
    public async Task GivenAPackWithARottenEntry_WhenItComes_ThenANewcomerAloneTakesIt()
    {
        await FillAsync();
        List<LogPosition> bases = LogFiles.Find(_leading, Replica.Logs, LogFiles.SegmentSuffix);
        byte[] pack = PackOf(_leading, bases[0], bases[^1]);
        pack[SegmentHeader.Length + 500] ^= 1;
        string path = PackFile.PathOf(Replica.Logs, bases[0], 0);
        ReplicaException refusal = Assert.Throws<ReplicaException>(() => Take(_leading.Copy(), path, pack));
        Assert.Equal(Path.GetFileName(LogFiles.Segment(Replica.Logs, bases[0])), refusal.InTheWay);

        var disk = new SimulatedDisk();
        StoreHeader store = RecoveryTests.StoreOf(_leading);
        ReplicaFiles.Create(Replica.FilesOn(disk), store.StoreId, store.LogIds[0], TimeProvider.System);
        using ReplicaFiles newcomer = Replica.Open(disk);
        newcomer.BeginCopying();
        using (ReplicaCopy copy = newcomer.BeginCopy(Path.GetFileName(path)))
        {
            copy.Write(pack);
            copy.Complete(bases[^1]);
        }

        Assert.Equal(bases[^1], newcomer.Tail.End);
    }

    private static void Take(SimulatedDisk disk, string path, byte[] bytes)
    {
        using ReplicaFiles files = Replica.Open(disk);
        using ReplicaCopy copy = files.BeginCopy(Path.GetFileName(path));
        copy.Write(bytes);
        copy.Complete(files.Tail.End);
    }

    /// <summary>A replica and a leader read the same log there, each entry once.</summary>
    private static async Task CheckAsync(SimulatedDisk disk, List<byte[]> expected)
    {
        LogPosition end;
        SimulatedDisk copy = disk.Copy();
        using (ReplicaFiles files = Replica.Open(copy))
        {
            Assert.True(files.IsWhole);
            end = files.Tail.End;
        }

        await using QueueStore store = await Replica.LeadAsync(
            copy, FlushPolicy.Sync, new MemoryState(), new Lead(10, end, end));
        store.SetCommitted(end, end);
        QueueId queue = Assert.Single(store.Queues).Id;
        List<TestBatch.Entry> found = await StoreTest.ReadAllAsync(store, queue);
        Assert.Equal(expected, found.Select(entry => entry.Batch));
    }

    /// <summary>As a leader writes it that keeps every message: entries without those of the state.</summary>
    internal static byte[] PackOf(SimulatedDisk disk, LogPosition from, LogPosition to)
    {
        StoreHeader store = RecoveryTests.StoreOf(disk);
        SegmentHeader.Read(
            disk.ReadAll(LogFiles.Segment(Replica.Logs, from)), out SegmentHeader? first);
        byte[] header = new byte[SegmentHeader.Length];
        new SegmentHeader
        {
            StoreId = store.StoreId,
            LogId = first!.LogId,
            BasePosition = from,
            Epoch = first.Epoch,
            CreatedMs = 1,
            Capacity = to.Value - from.Value,
            PackedTo = to,
        }.Write(header);
        IEnumerable<EntrySummary> kept = RecoveryTests.EntriesOf(disk).Where(
            entry => entry.Kind == EntryKind.Messages && entry.Position >= from && entry.Position < to);
        return
        [
            .. header,
            .. kept.SelectMany(entry => Replica.BytesOf(
                disk, entry.Position, new LogPosition(entry.Position.Value + entry.Size))),
        ];
    }

    private async Task<List<byte[]>> FillAsync()
    {
        await using QueueStore store = await CrashRun.OpenAsync(_leading, FlushPolicy.Sync, new MemoryState(), Cancel);
        QueueId queue =
            (await store.OpenQueuesAsync(TopicId.NewId(), 0, 1, [MemoryState.Entry("made", "1")], Cancel))[0];
        for (int i = 0; store.Figures.Segments < Segments; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(3_000, i), Durability.Policy, Cancel);
        await Eventually.TrueAsync(
            () => LogFiles.Find(_leading, Replica.Logs, LogFiles.IndexSuffix).Count == Segments - 1
                && LogFiles.Find(_leading, Replica.Logs, LogFiles.SnapshotSuffix).Count > 0);
        return [.. (await StoreTest.ReadAllAsync(store, queue)).Select(entry => entry.Batch)];
    }
}
