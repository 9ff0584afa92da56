using System.Diagnostics;
using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <content>Snapshots of the state, from which recovery replays.</content>
internal sealed partial class LogKeeper
{
    private void TakeSnapshot()
    {
        if (_snapshots.Count > 0 && _snapshots[^1].Value == _log.Staged && LagsBehind())
        {
            // At rest the second of two would have the place of the first: it gets one of its own.
            _log.TryStageMark();
        }
        LogPosition start = _log.BeginSnapshot();
        _isSnapshotWanted = false;
        _lastSnapshot = Stopwatch.GetTimestamp();
        if (_snapshots.Count > 0 && _snapshots[^1] == start)
            return;
        try
        {
            WriteSnapshot(start);
        }
        catch
        {
            _isSnapshotWanted = true;
            throw;
        }
        _snapshots.Add(start);
        _snapshotsTaken++;
        NoteReplayFrom();
        SnapshotTaken?.Invoke();
        while (_snapshots.Count > KeptSnapshots)
        {
            _disk.Delete(LogFiles.Snapshot(_directory, _snapshots[0]));
            _snapshots.RemoveAt(0);
        }
    }

    private void NoteReplayFrom()
    {
        if (_snapshots.Count >= KeptSnapshots)
            Volatile.Write(ref _replayFrom, _snapshots[^KeptSnapshots].Value);
    }

    private void WriteSnapshot(LogPosition start)
    {
        string path = LogFiles.Snapshot(_directory, start);
        LogState state = _log.State;
        using var snapshot = new SnapshotWriter(_disk, path);
        (uint nextQueue, long nextProducer, long lastTimeMs) =
            _log.Locked(() => (state.Queues.NextId, state.Producers.NextId, _log.LastStoredTimeMs));
        snapshot.WriteMarks(nextQueue, nextProducer, lastTimeMs);
        QueueId[] queues = [QueueId.State, .. state.Queues.All.Select(queue => queue.Id)];
        snapshot.WriteQueues(Slices((uint)queues.Length, index => state.Queues.Find(queues[index]), SnapshotQueue.Of));
        long[] producers = _log.Locked(() => state.Producers.All.Select(producer => producer.Id).ToArray());
        snapshot.WriteProducers(Slices((uint)producers.Length, FindProducer, SnapshotProducer.Of));
        snapshot.WriteMachine(state.Machine.Capture());
        snapshot.WriteChecks(Slices((uint)producers.Length, FindProducer, SnapshotProducer.Of));
        snapshot.WriteTimeResets(state.TimeResets);
        snapshot.WriteTrust(_log.ConfirmedMs, _log.Bound.Best);
        snapshot.WriteEpochs(_log.Epochs);
        var end = new LogPosition(_log.Staged);
        if (!_log.TryMakeCommitted(LogCleaner.CommitWait))
            throw new OperationCanceledException("The log takes long to become committed and durable: later.");
        snapshot.Complete(
            _log.StoreId, _log.LogId, start, end, _log.Epoch, _time.GetUtcNow().ToUnixTimeMilliseconds());
        Log.BackgroundFileWritten(_logger, path, snapshot.Size);

        ProducerState? FindProducer(uint index)
        {
            ProducerState? producer = state.Producers.Find(producers[index]);
            producer?.ForgetRemoved(state.Queues);
            return producer;
        }
    }

    /// <summary>Copies of many items, taken slice by slice under the log's lock.</summary>
    private IEnumerable<TCopy> Slices<TItem, TCopy>(uint count, Func<uint, TItem?> find, Func<TItem, TCopy> copy)
        where TItem : class
    {
        var slice = new List<TCopy>(SliceSize);
        for (uint first = 0; first < count; first += SliceSize)
        {
            uint start = first;
            _log.Locked(() =>
            {
                for (uint i = start; i < Math.Min(start + SliceSize, count); i++)
                {
                    if (find(i) is { } item)
                        slice.Add(copy(item));
                }
                return true;
            });
            foreach (TCopy item in slice)
                yield return item;
            slice.Clear();
        }
    }
}
