using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <content>A store that leads replicas: what all of them have counts, and they are given its bytes.</content>
public sealed partial class QueueStore
{
    /// <summary>Random id of the log, which seeds the checksums of its entries.</summary>
    public Guid LogId => _log.LogId;

    /// <summary>Called when more is written or durable here; on threads of the store, must be quick. For a
    /// leader.</summary>
    public Action? Progressed
    {
        get => _log.Progressed;
        set => _log.Progressed = value;
    }

    /// <summary>Begins the epoch of a store that was opened to lead: its start is durable here when this returns, and
    /// appends are taken from then on. Blocks.</summary>
    /// <returns>The position behind the start: the leader serves when that is committed.</returns>
    /// <exception cref="EQueueException">StoreFaulted.</exception>
    /// <exception cref="InvalidOperationException">It was not opened to lead, or has begun.</exception>
    public LogPosition StartLeading()
    {
        LogPosition begun = _log.StartLeading();
        _log.SetTime(_options.AcceptClock);
        return begun;
    }

    /// <summary>Tells a leader what all replicas that count have: readers see, and waiters are told, as far as that.
    /// Neither goes back. One thread at a time.</summary>
    /// <param name="written">Below it all have everything in their systems' memory.</param>
    /// <param name="durable">Below it all have everything on their disks.</param>
    /// <exception cref="ArgumentOutOfRangeException">The store itself has less.</exception>
    /// <exception cref="InvalidOperationException">It was not opened to lead.</exception>
    public void SetCommitted(LogPosition written, LogPosition durable) => _log.SetCommitted(written, durable);

    /// <summary>Ends a leader whose epoch is over: nothing more is taken or committed, and all who wait are told;
    /// what is stored may be committed by the next leader, or be cut. Then dispose: the directory gets no snapshot
    /// and no mark of an orderly end. Any thread.</summary>
    /// <exception cref="InvalidOperationException">It was not opened to lead.</exception>
    public void StopLeading() => _log.StopLeading();

    /// <summary>Reads the log for a follower: whole entries and groups up to what is written, nothing behind a seal,
    /// the start of an epoch only as the first.</summary>
    /// <param name="from">The end of an entry.</param>
    /// <param name="destination">Where they go.</param>
    /// <param name="needed">When the first entry or group is larger than the destination: bytes to come again with, as
    /// far as can be told; else 0.</param>
    /// <returns>Bytes read; 0 at the end; -1 when the bytes are packed or gone: then files must be copied.</returns>
    /// <exception cref="DiskException">A segment cannot be read.</exception>
    public int ReadStored(LogPosition from, Span<byte> destination, out int needed) =>
        _storedReader.Read(from, destination, out needed);

    /// <summary>Whether the log holds exactly this entry: place, epoch, checksum and end.</summary>
    /// <returns>Null when the bytes at its place are packed or gone.</returns>
    /// <exception cref="DiskException">A segment cannot be read.</exception>
    public bool? Holds(in ReplicaTail tail) => _storedReader.Holds(tail);

    /// <summary>The newest epoch up to <paramref name="epoch"/> that has entries, and where it ends in what is
    /// written.</summary>
    /// <returns>Epoch 0 with end 0 when there is none.</returns>
    public (int Epoch, LogPosition End) EndOfEpoch(int epoch) => _storedReader.EndOfEpoch(epoch);

    /// <summary>The files that a new replica copies.</summary>
    /// <exception cref="DiskException">The directory cannot be read.</exception>
    public LeaderFiles ListFiles() => LeaderFiles.Look(_log, _disk, LogFiles.LogDirectory(_options.DataDirectory));

    /// <summary>Reads a part of one of them.</summary>
    /// <param name="name">As <see cref="ListFiles"/> calls it.</param>
    /// <param name="offset">From where, in bytes.</param>
    /// <param name="destination">Where the bytes go.</param>
    /// <returns>Bytes read, 0 at the end; -1 when the file is gone: the list is to be asked for again.</returns>
    /// <exception cref="DiskException">It cannot be read.</exception>
    public int ReadFile(string name, long offset, Span<byte> destination) =>
        LeaderFiles.Read(_disk, LogFiles.LogDirectory(_options.DataDirectory), name, offset, destination);
}
