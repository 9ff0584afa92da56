using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>What a leader's entries say of the log before them.</summary>
public sealed class LeadEntryTests
{
    private readonly SimulatedDisk _disk = new();
    private QueueId _queue;

    /// <summary>A torn tail is told from rot by it: what is said to be proven must be on this disk.</summary>
    [Fact]
    public async Task GivenWhatIsCommittedAndNotDurableHere_WhenMoreIsAppended_ThenItsEntryProvesWhatIsBothAlone()
    {
        await using QueueStore leader = await BegunAsync(FlushPolicy.Async);
        LogPosition durable = leader.Watermarks.Durable;
        await AppendAsync(leader);
        leader.SetCommitted(leader.Watermarks.Written, default);
        Assert.True(leader.Watermarks.Visible > durable && leader.Watermarks.Durable == durable);

        EntryHeader entry = await AppendAsync(leader);

        Assert.True(entry.Position > durable);
        Assert.Equal(durable.Value, entry.ProvenDurable);
    }

    [Fact]
    public async Task GivenWhatIsDurableHereAndNotCommitted_WhenMoreIsAppended_ThenItsEntryProvesWhatIsBothAlone()
    {
        await using QueueStore leader = await BegunAsync(FlushPolicy.Sync);
        LogPosition committed = leader.Watermarks.Visible;
        await AppendAsync(leader);
        await Replica.SettleAsync(leader, isDurable: true);
        Assert.True(leader.Watermarks.Durable > committed);

        EntryHeader entry = await AppendAsync(leader);

        Assert.Equal(committed.Value, entry.ProvenDurable);
    }

    private async Task<EntryHeader> AppendAsync(QueueStore leader)
    {
        LogPosition at = leader.Watermarks.Staged;
        AppendItem[] items = [new() { Queue = _queue, Batch = TestBatch.Of("more"), TagBits = uint.MaxValue }];
        Assert.Equal(AppendStatus.Accepted, leader.Append(items, Durability.Written, new TestWaiter()));
        await Replica.SettleAsync(leader, isDurable: false);
        byte[] bytes = new byte[64 << 10];
        Assert.InRange(leader.ReadStored(at, bytes, out _), EntryHeader.Length, bytes.Length);
        return EntryHeader.Read(bytes);
    }

    /// <summary>A leader that flushes when it must.</summary>
    private async Task<QueueStore> BegunAsync(FlushPolicy policy)
    {
        StoreOptions options = CrashRun.OptionsOn(_disk, policy) with { FlushInterval = TimeSpan.FromSeconds(10) };
        (QueueStore leader, _queue) = await Replica.BeginAsync(_disk, policy, new MemoryState(), options);
        return leader;
    }
}
