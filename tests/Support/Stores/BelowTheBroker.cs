using System.Collections.Concurrent;
using EQueue.MessageStore;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Support.Stores;

/// <summary>Fills the store of a broker that does not run with batches that the broker would refuse: what an older one
/// took, or what came to be on the disk.</summary>
public static class BelowTheBroker
{
    /// <summary>Appends batches to queues of a stopped broker.</summary>
    /// <param name="options">As the broker opens it.</param>
    /// <param name="batches">Header and CRC must be right, as the store looks at them; its records may be
    /// anything.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The offset of each batch's first record.</returns>
    public static async Task<IReadOnlyList<long>> AppendAsync(
        StoreOptions options,
        IEnumerable<(QueueId Queue, uint TagBits, byte[] Batch)> batches,
        CancellationToken cancellationToken)
    {
        List<long> offsets = [];
        await using QueueStore store = await QueueStore.OpenAsync(
            options, new KeptState(), NullLoggerFactory.Instance, TimeProvider.System, cancellationToken);
        foreach ((QueueId queue, uint tagBits, byte[] batch) in batches)
        {
            var items = new AppendItem[] { new() { Queue = queue, Batch = batch, TagBits = tagBits } };
            var waiter = new Waiter();
            while (store.Append(items, Durability.Written, waiter) == AppendStatus.NoRoom)
                await store.WaitForRoomAsync(cancellationToken);
            if (items[0].Error != ErrorCode.None)
                throw new EQueueException(items[0].Error);
            await waiter.Done.WaitAsync(cancellationToken);
            offsets.Add(items[0].FirstOffset.Value);
        }

        return offsets;
    }

    /// <summary>Keeps what the broker stored of its own, byte for byte.</summary>
    private sealed class KeptState : IStateMachine
    {
        private readonly ConcurrentDictionary<string, StateEntry> _entries = new();

        public void Apply(in StateRecord record)
        {
            string key = record.Kind + ":" + Convert.ToHexString(record.Key);
            if (record.IsDeleted)
                _entries.TryRemove(key, out _);
            else
                _entries[key] = new StateEntry(record.Kind, record.Key.ToArray(), record.Value.ToArray());
        }

        public IEnumerable<StateEntry> Capture() => _entries.Values;
    }

    private sealed class Waiter : AppendWaiter
    {
        private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task Done => _done.Task;

        protected override void OnCompleted(Exception? fault)
        {
            if (fault is null)
                _done.TrySetResult();
            else
                _done.TrySetException(fault);
        }
    }
}
