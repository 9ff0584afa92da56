using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <summary>The log as the rules see it: the files of a replica that follows, or the store of one that leads. What
/// its end is, is told to it on the loop's thread, so that it never changes under the rules.</summary>
internal sealed class ReplicaLogView : IReplicaLog
{
    private readonly Lock _lock;
    private ReplicaFiles? _files;
    private QueueStore? _store;

    /// <param name="filesLock">Held by those who use the files.</param>
    public ReplicaLogView(Lock filesLock) => _lock = filesLock;

    /// <inheritdoc/>
    public LogTail Tail { get; private set; }

    /// <inheritdoc/>
    public LogPosition Durable { get; private set; }

    /// <summary>The store while this replica leads, from the beginning of its epoch on.</summary>
    public QueueStore? Store => _store;

    /// <summary>The replica follows, with these files.</summary>
    public void Follow(ReplicaFiles files)
    {
        (_files, _store) = (files, null);
        Move(files.Tail, files.Durable);
    }

    /// <summary>The replica leads, with this store.</summary>
    public void Lead(QueueStore store)
    {
        (_files, _store) = (null, store);
        Refresh();
    }

    /// <summary>The log is being opened in another way: its ends stay as they are known.</summary>
    public void Close() => (_files, _store) = (null, null);

    /// <summary>The files have got longer, or more of them is durable.</summary>
    public void Move(in ReplicaTail tail, LogPosition durable)
    {
        Tail = new LogTail(tail.End, tail.Epoch, tail.Position, tail.Crc);
        Durable = durable;
    }

    /// <summary>Looks how far the store has come.</summary>
    public void Refresh()
    {
        if (_store is not { } store) return;
        LogWatermarks marks = store.Watermarks;
        // Nobody compares the tail of one who leads: its end counts.
        Tail = new LogTail(marks.Written, store.Epoch, default, 0);
        Durable = marks.Durable;
    }

    /// <inheritdoc/>
    public bool? Holds(in LogTail tail)
    {
        var wanted = new ReplicaTail(tail.End, tail.Epoch, tail.Position, tail.Crc);
        if (_store is { } store) return store.ReadStored(tail.Position, [], out _) < 0 ? null : store.Holds(wanted);
        lock (_lock) return _files is { } files && files.Holds(wanted);
    }

    /// <inheritdoc/>
    public (int Epoch, LogPosition End) EndOfEpoch(int epoch)
    {
        if (_store is { } store) return store.EndOfEpoch(epoch);
        lock (_lock) return _files?.EndOfEpoch(epoch) ?? default;
    }
}
