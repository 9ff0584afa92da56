using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <summary>The log as the rules see it: the files of a replica that follows, or the store of one that leads. What
/// its end is, is told to it on the loop's thread, so that it never changes under the rules.</summary>
internal sealed class ReplicaLogView : IReplicaLog
{
    private readonly Lock _lock;
    private readonly RoomWatch _room;
    private ReplicaFiles? _files;
    private QueueStore? _store;

    /// <param name="filesLock">Held by those who use the files.</param>
    /// <param name="room">Knows whether the volume is full while this node does not lead.</param>
    public ReplicaLogView(Lock filesLock, RoomWatch room) => (_lock, _room) = (filesLock, room);

    /// <inheritdoc/>
    public LogTail Tail { get; private set; }

    /// <inheritdoc/>
    public LogPosition Durable { get; private set; }

    /// <inheritdoc/>
    public bool IsFull => _store?.IsReadOnly ?? _room.IsFull;

    /// <summary>The store while this replica leads, from the beginning of its epoch on.</summary>
    public QueueStore? Store => _store;

    /// <summary>Rises when the log is cut or opened anew: an end that was looked at before is none of it. Written under
    /// the files' lock.</summary>
    public int Generation { get; private set; }

    /// <summary>The replica follows, with these files. Under their lock.</summary>
    public void Follow(ReplicaFiles files)
    {
        (_files, _store) = (files, null);
        Cut(files.Tail, files.Durable);
    }

    /// <summary>The replica leads, with this store.</summary>
    public void Lead(QueueStore store)
    {
        (_files, _store) = (null, store);
        Refresh();
    }

    /// <summary>The log goes to another owner: what is still to be written for the one before is none of it. Under the
    /// files' lock.</summary>
    public void Abandon() => Generation++;

    /// <summary>The log is being opened in another way: its ends stay as they are known.</summary>
    public void Close() => (_files, _store) = (null, null);

    /// <summary>The files were cut, or are others. Under their lock.</summary>
    public void Cut(in ReplicaTail tail, LogPosition durable)
    {
        Generation++;
        _ = TryMove(tail, durable, Generation);
    }

    /// <summary>The files have got longer, or more of them is durable.</summary>
    /// <param name="tail">Their end.</param>
    /// <param name="durable">What of them is durable.</param>
    /// <param name="generation">Of the log when that was looked at.</param>
    /// <returns>False when it has been cut since: what was durable then may be gone.</returns>
    public bool TryMove(in ReplicaTail tail, LogPosition durable, int generation)
    {
        if (generation != Generation)
            return false;
        Tail = new LogTail(tail.End, tail.Epoch, tail.Position, tail.Crc);
        Durable = durable;
        return true;
    }

    /// <summary>Looks how far the store has come.</summary>
    public void Refresh()
    {
        if (_store is not { } store)
            return;
        LogWatermarks marks = store.Watermarks;
        // The tail of a leader is not compared: its end counts.
        Tail = new LogTail(marks.Written, store.Epoch, default, 0);
        Durable = marks.Durable;
    }

    /// <inheritdoc/>
    public bool? Holds(in LogTail tail)
    {
        var wanted = new ReplicaTail(tail.End, tail.Epoch, tail.Position, tail.Crc);
        try
        {
            if (_store is { } store)
                return store.Holds(wanted);
            lock (_lock)
                return _files is { } files && files.Holds(wanted);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.NotFound)
        {
            return null; // packed or removed at this very moment
        }
    }

    /// <inheritdoc/>
    public (int Epoch, LogPosition End) EndOfEpoch(int epoch)
    {
        if (_store is { } store)
            return store.EndOfEpoch(epoch);
        lock (_lock)
            return _files?.EndOfEpoch(epoch) ?? default;
    }
}
