using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>What tests of replicas share: stores and files on simulated disks.</summary>
internal static class Replica
{
    public static readonly string Logs = LogFiles.LogDirectory(CrashRun.Folder);

    public static ReplicaFilesOptions FilesOn(SimulatedDisk disk) => new()
    {
        DataDirectory = CrashRun.Folder,
        SegmentSizeBytes = StoreOptions.SmallestSegmentBytes,
        Disk = disk,
    };

    public static ReplicaFiles Open(SimulatedDisk disk, TimeProvider? time = null) => Open(FilesOn(disk), time);

    public static ReplicaFiles Open(ReplicaFilesOptions options, TimeProvider? time = null) => ReplicaFiles.Open(
        options, NullLogger.Instance, time ?? TimeProvider.System, TestContext.Current.CancellationToken);

    /// <summary>A new replica of a store.</summary>
    public static ReplicaFiles Create(SimulatedDisk disk, QueueStore leader)
    {
        ReplicaFiles.Create(FilesOn(disk), leader.StoreId, leader.LogId, TimeProvider.System);
        return Open(disk);
    }

    public static Task<QueueStore> LeadAsync(
        SimulatedDisk disk, FlushPolicy policy, MemoryState state, Lead lead, StoreOptions? options = null) =>
        QueueStore.OpenAsync(
            options ?? CrashRun.OptionsOn(disk, policy),
            state,
            NullLoggerFactory.Instance,
            TimeProvider.System,
            lead,
            TestContext.Current.CancellationToken);

    /// <summary>A leader of a store with one queue, which has committed the start of its epoch.</summary>
    public static async Task<(QueueStore Leader, QueueId Queue)> BeginAsync(
        SimulatedDisk disk, FlushPolicy policy, MemoryState state, StoreOptions? options = null)
    {
        CancellationToken cancel = TestContext.Current.CancellationToken;
        LogPosition end;
        QueueId queue;
        await using (QueueStore store = await CrashRun.OpenAsync(disk, FlushPolicy.Sync, new MemoryState(), cancel))
        {
            queue = (await store.OpenQueuesAsync(TopicId.NewId(), 0, 1, [MemoryState.Entry("made", "1")], cancel))[0];
            await store.DisposeAsync();
            end = store.Watermarks.Durable;
        }

        QueueStore leader = await LeadAsync(disk, policy, state, new Lead(9, end, end), options);
        LogPosition begun = leader.StartLeading();
        leader.SetCommitted(begun, begun);
        return (leader, queue);
    }

    /// <summary>Waits until all that is staged is written, and durable with sync flush or when asked for.</summary>
    public static async Task SettleAsync(QueueStore leader, bool isDurable)
    {
        // Not by timers: this is done millions of times.
        long deadline = Environment.TickCount64 + 60_000;
        while (leader.Watermarks is var marks && (marks.Written < marks.Staged || (isDurable && marks.Durable < marks.Staged)))
        {
            Assert.True(Environment.TickCount64 < deadline, $"{marks} after a minute");
            await Task.Yield();
        }
    }

    /// <summary>Gives a follower all that the leader has written.</summary>
    public static void Feed(QueueStore leader, ReplicaFiles follower)
    {
        while (FeedOnce(leader, follower, 16 << 10))
        {
        }
    }

    /// <summary>Gives a follower one answer.</summary>
    /// <returns>False when there was nothing to give.</returns>
    /// <exception cref="KeyNotFoundException">The leader has no bytes for it any more: files must be
    /// copied.</exception>
    public static bool FeedOnce(QueueStore leader, ReplicaFiles follower, int maxBytes)
    {
        byte[] bytes = new byte[maxBytes];
        int size = leader.ReadStored(follower.Tail.End, bytes, out int needed);
        while (needed > 0)
        {
            bytes = new byte[needed];
            size = leader.ReadStored(follower.Tail.End, bytes, out needed);
        }

        if (size < 0)
            throw new KeyNotFoundException($"the leader has packed or removed what follows {follower.Tail.End}");
        if (size == 0)
            return false;
        follower.AppendStored(bytes.AsSpan(0, size), leader.Epoch);
        return true;
    }

    /// <summary>Tells the leader what both have.</summary>
    public static void Commit(QueueStore leader, ReplicaFiles follower)
    {
        LogWatermarks marks = leader.Watermarks;
        leader.SetCommitted(Least(marks.Written, follower.Tail.End), Least(marks.Durable, follower.Durable));
    }

    /// <summary>Cuts a follower where the leader does not have its entries.</summary>
    /// <returns>False when the leader has packed or removed what would tell: files must be copied.</returns>
    public static bool Match(QueueStore leader, ReplicaFiles follower)
    {
        while (true)
        {
            bool? isThere = leader.Holds(follower.Tail);
            if (isThere is not false)
                return isThere is not null;
            (int epoch, LogPosition end) = leader.EndOfEpoch(follower.Tail.Epoch);
            (_, LogPosition own) = follower.EndOfEpoch(epoch);
            LogPosition cut = Least(end, own);
            Assert.True(cut < follower.Tail.End, $"{cut} cuts nothing of a log that ends at {follower.Tail}; the leader of {leader.Epoch} has {(epoch, end)} at {leader.Watermarks}, own {own}");
            follower.CutTo(cut);
        }
    }

    /// <summary>The bytes of the log between two positions, as the segment files have them.</summary>
    public static byte[] BytesOf(SimulatedDisk disk, LogPosition from, LogPosition to)
    {
        byte[] bytes = new byte[to.Value - from.Value];
        List<LogPosition> bases = LogFiles.Find(disk, Logs, LogFiles.SegmentSuffix);
        for (int i = 0; i < bases.Count; i++)
        {
            long begin = Math.Max(from.Value, bases[i].Value);
            long end = Math.Min(to.Value, i + 1 < bases.Count ? bases[i + 1].Value : to.Value);
            if (begin >= end)
                continue;
            using IDiskFile file = disk.Open(LogFiles.Segment(Logs, bases[i]), DiskOpen.ReadOnly);
            file.Read(
                bytes.AsSpan((int)(begin - from.Value), (int)(end - begin)),
                SegmentHeader.FileOffsetOf(new LogPosition(begin), bases[i]));
        }

        return bytes;
    }

    public static LogPosition Least(LogPosition one, LogPosition other) => one < other ? one : other;
}
