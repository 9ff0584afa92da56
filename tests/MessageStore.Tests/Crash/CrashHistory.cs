using System.Globalization;
using System.Text;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>What one run sent, what it was told about it, and at which change of the disk it was told.</summary>
internal sealed class CrashHistory(SimulatedDisk disk)
{
    private readonly Lock _lock = new();
    private readonly Dictionary<uint, Dictionary<long, Sent>> _sent = [];
    private readonly List<(string Key, long Version, Ack Ack)> _states = [];
    private readonly Dictionary<string, long> _versions = [];

    public IEnumerable<uint> Queues => _sent.Keys;

    public SimulatedDisk Disk => disk;

    /// <summary>A batch that was staged.</summary>
    public sealed record Sent(long FirstOffset, int Count, byte[] Batch, int Epoch, Ack Ack)
    {
        public long EndOffset => FirstOffset + Count;
    }

    /// <summary>The answer to an append: after how many changes of the disk it came.</summary>
    public sealed class Ack(SimulatedDisk disk, bool isDurable) : AppendWaiter
    {
        private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private int _at = int.MaxValue;

        public Task Done => _done.Task;

        /// <summary>Whether this had happened before a crash that leaves so many changes.</summary>
        public bool IsBefore(int changes, bool isPowerCut) =>
            Volatile.Read(ref _at) <= changes && (isDurable || !isPowerCut);

        protected internal override void OnCompleted(Exception? fault)
        {
            if (fault is null)
                Volatile.Write(ref _at, disk.ChangeCount);
            _done.TrySetResult();
        }
    }

    public void AddQueue(QueueId queue) => _sent.Add(queue.Value, []);

    public void Add(QueueId queue, Sent sent)
    {
        lock (_lock)
            _sent[queue.Value].Add(sent.FirstOffset, sent);
    }

    public long NextVersion(string key) => _versions[key] = _versions.GetValueOrDefault(key) + 1;

    public void AddState(string key, long version, Ack ack) => _states.Add((key, version, ack));

    /// <summary>The batches of a queue that must be there after a crash: up to this offset.</summary>
    public long AcknowledgedEnd(uint queue, int changes, bool isPowerCut) =>
        _sent[queue].Values.Where(sent => sent.Ack.IsBefore(changes, isPowerCut))
            .Select(sent => sent.EndOffset).DefaultIfEmpty(0).Max();

    /// <summary>Checks one entry that was read back against what was sent at its offset.</summary>
    public void CheckEntry(uint queue, TestBatch.Entry entry)
    {
        bool wasSent = _sent[queue].TryGetValue(entry.FirstOffset, out Sent? sent) && sent.Epoch == entry.Epoch;
        Assert.True(wasSent, $"queue {queue} offset {entry.FirstOffset} epoch {entry.Epoch} was never sent");
        byte[] expected = [.. sent!.Batch];
        RecordBatch.Stamp(expected, new QueueOffset(sent.FirstOffset), sent.Epoch);
        Assert.True(
            expected.AsSpan().SequenceEqual(entry.Batch),
            $"queue {queue} offset {entry.FirstOffset} has other bytes");
    }

    /// <summary>Every state record that was acknowledged is there, in that value or a later one.</summary>
    public void CheckState(MemoryState state, int changes, bool isPowerCut)
    {
        foreach (IGrouping<string, (string Key, long Version, Ack Ack)> key in _states.GroupBy(item => item.Key))
        {
            long acknowledged = key.Where(item => item.Ack.IsBefore(changes, isPowerCut))
                .Select(item => item.Version).DefaultIfEmpty(0).Max();
            long found = long.Parse(state[key.Key] ?? "0", CultureInfo.InvariantCulture);
            Assert.True(
                found >= acknowledged && found <= _versions[key.Key],
                $"state {key.Key}: {acknowledged} was acknowledged, {found} found, {_versions[key.Key]} sent");
        }
    }

    public static StateEntry EntryOf(string key, long version, int padding) => new(
        64,
        Encoding.UTF8.GetBytes(key),
        Encoding.UTF8.GetBytes(version.ToString(CultureInfo.InvariantCulture).PadLeft(padding, '0')));
}
