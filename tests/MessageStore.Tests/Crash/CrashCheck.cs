using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>Opens what a crash left and compares it with what was sent and acknowledged; then opens it again.</summary>
internal static class CrashCheck
{
    public static async Task RunAsync(
        CrashHistory history, SimulatedDisk disk, FlushPolicy policy, int changes, bool isPowerCut, CancellationToken cancel)
    {
        (string first, SimulatedDisk after) = await OpenAndCheckAsync(history, disk, policy, changes, isPowerCut, cancel);
        (string second, _) = await OpenAndCheckAsync(history, after, policy, changes, isPowerCut, cancel);
        Assert.Equal(first, second);
    }

    /// <summary>Opens, reads everything back, and dies.</summary>
    /// <returns>What was found, as text, and the disk as the death left it.</returns>
    private static async Task<(string Found, SimulatedDisk Disk)> OpenAndCheckAsync(
        CrashHistory history, SimulatedDisk disk, FlushPolicy policy, int changes, bool isPowerCut, CancellationToken cancel)
    {
        var state = new MemoryState();
        await using QueueStore store = await CrashRun.OpenAsync(disk, policy, state, cancel);
        var found = new List<string>();
        foreach (uint id in history.Queues)
        {
            long acknowledged = history.AcknowledgedEnd(id, changes, isPowerCut);
            var queue = new QueueId(id);
            if (!store.TryGetQueue(queue, out QueueView view))
            {
                Assert.Equal(0, acknowledged);
                continue;
            }

            long expected = 0;
            foreach (TestBatch.Entry entry in await StoreTest.ReadAllAsync(store, queue))
            {
                Assert.Equal(expected, entry.FirstOffset);
                history.CheckEntry(id, entry);
                expected += entry.Count;
                found.Add($"{id}/{entry.FirstOffset}@{entry.Position}");
            }

            Assert.Equal(expected, view.End.Value);
            Assert.Equal(expected, view.StagedEnd.Value);
            Assert.True(expected >= acknowledged, $"queue {id} ends at {expected}; {acknowledged} was acknowledged");
        }

        history.CheckState(state, changes, isPowerCut);
        found.Add(state.ToString()!);
        return (string.Join('\n', found), disk.Kill());
    }
}
