using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Makes the store of a closed data directory a replica's: its files get other names, nothing is
/// copied.</summary>
/// <remarks>
/// One thread at a time; the directory's lock is held until <see cref="Dispose"/>. Ended at any step, by a crash of the
/// process or of the machine, the directory is one that no store and no node opens, and a second
/// <see cref="Open"/> continues.
/// </remarks>
public sealed class StoreMove : IDisposable
{
    private readonly IDisk _disk;
    private readonly string _data;
    private readonly string _replica;
    private readonly IDisposable _lock;
    private readonly StoreHeader _store;

    private StoreMove(IDisk disk, string data, string replica)
    {
        (_disk, _data, _replica) = (disk, data, replica);
        if (MoveMarker.Read(disk, data) is { } note)
            Note = note;
        if (Note is null && !disk.Exists(LogFiles.StoreFile(data)))
        {
            MoveMarker.CheckNew(disk, data);
            throw new StoreFormatException(data, "there is no store here.");
        }

        _lock = disk.Lock(LogFiles.LockFile(data));
        try
        {
            RestoreMarker.Check(disk, data);
            bool isMoved = !disk.Exists(LogFiles.StoreFile(data)) && Note is not null;
            string place = isMoved ? replica : data;
            FileVerdict verdict = StoreHeader.Read(
                WholeFile.Read(disk, LogFiles.StoreFile(place), StoreHeader.MaxLength), out StoreHeader? store);
            if (verdict == FileVerdict.Refused)
                throw LaterVersion.Refuse(disk, LogFiles.StoreFile(place));
            _store = verdict == FileVerdict.Valid
                ? store!
                : throw new StoreFormatException(
                    LogFiles.StoreFile(place), $"the file cannot be read ({verdict}): {StartAndStop}");
            if (Note is null)
                End = CheckClosed();
        }
        catch
        {
            _lock.Dispose();
            throw;
        }
    }

    /// <summary>The store's identity.</summary>
    public Guid StoreId => _store.StoreId;

    /// <summary>The log's identity.</summary>
    public Guid LogId => _store.LogIds[0];

    /// <summary>What <see cref="Begin"/> was given; null when nothing has begun.</summary>
    public ReadOnlyMemory<byte>? Note { get; private set; }

    /// <summary>Where the log ends, all of it durable; only before anything has begun.</summary>
    public LogPosition End { get; }

    private static string StartAndStop =>
        "start a broker on the directory as before and stop it in order, then adopt it.";

    /// <summary>Takes the directory's lock, and looks whether its store can be moved, or is being moved.</summary>
    /// <param name="dataDirectory">Of a broker that was stopped in order.</param>
    /// <param name="replicaDirectory">The replica's, on the same volume.</param>
    /// <param name="disk">Where they are; null = this system's files.</param>
    /// <exception cref="StoreFormatException">There is no store, one of a later version, or one that was not closed in
    /// order; or the replica's directory holds one.</exception>
    /// <exception cref="DiskException">A process has the directory open (Locked), or the disk failed.</exception>
    public static StoreMove Open(string dataDirectory, string replicaDirectory, IDisk? disk = null) => new(
        disk ?? PortableDisk.ForThisSystem(), Path.GetFullPath(dataDirectory), Path.GetFullPath(replicaDirectory));

    /// <summary>Refuses a data directory whose store is a single broker's, or is being moved.</summary>
    /// <param name="dataDirectory">That a node of a cluster is to keep its replica in.</param>
    /// <param name="disk">Where it is; null = this system's files.</param>
    /// <exception cref="StoreFormatException">The directory has such a store.</exception>
    public static void CheckNoStore(string dataDirectory, IDisk? disk = null)
    {
        disk ??= PortableDisk.ForThisSystem();
        string data = Path.GetFullPath(dataDirectory);
        MoveMarker.Check(disk, data);
        string path = LogFiles.StoreFile(data);
        if (disk.Exists(path))
        {
            throw new StoreFormatException(
                path,
                "this directory has the messages of a broker that was in no cluster: 'equeue cluster adopt' makes it "
                + "a node's, messages and all; or name another directory.");
        }
    }

    /// <summary>Begins: from here on no store and no node opens the directory.</summary>
    /// <param name="note">Given back by <see cref="Note"/> when a second run continues; 1 to 1,048,576 bytes.</param>
    public void Begin(ReadOnlySpan<byte> note)
    {
        MoveMarker.Write(_disk, _data, note);
        Note = note.ToArray();
    }

    /// <summary>Moves the files that are still to be moved; durable when it returns.</summary>
    /// <param name="end">Where the log ended when the move began.</param>
    /// <param name="record">What the rules of replication keep of the replica.</param>
    public void Move(LogPosition end, ReadOnlyMemory<byte> record)
    {
        string from = LogFiles.LogDirectory(_data), to = LogFiles.LogDirectory(_replica);
        _disk.CreateDirectory(to);
        _disk.SyncDirectory(Path.GetDirectoryName(to)!);
        _disk.SyncDirectory(_replica);
        FolderNames.Sync(_disk, _replica);
        foreach (DiskEntry entry in _disk.List(from))
            _disk.Rename(Path.Combine(from, entry.Name), Path.Combine(to, entry.Name));
        _disk.SyncDirectory(to);
        if (_disk.Exists(from))
            _disk.SyncDirectory(from);
        ReplicaNoteFile.Open(_disk, _replica, new ReplicaNote(StoreId, end, IsCopying: false, record));
        MoveFile(LogFiles.CleanFile(_data), LogFiles.CleanFile(_replica));
        // The last one: with it, the replica's directory is whole.
        MoveFile(LogFiles.StoreFile(_data), LogFiles.StoreFile(_replica));
        _disk.SyncDirectory(_replica);
        _disk.SyncDirectory(_data);
    }

    /// <summary>Ends: a node opens the directory now.</summary>
    public void Finish()
    {
        MoveMarker.Remove(_disk, _data);
        Note = null;
        RemoveEmpty(LogFiles.LogDirectory(_data));
        RemoveEmpty(Path.GetDirectoryName(LogFiles.LogDirectory(_data))!);
    }

    /// <inheritdoc/>
    public void Dispose() => _lock.Dispose();

    private void MoveFile(string from, string to)
    {
        if (_disk.Exists(from))
            _disk.Rename(from, to);
    }

    /// <summary>Refuses a store that a replica would not have in full: its log must end where the broker closed
    /// it.</summary>
    private LogPosition CheckClosed()
    {
        if (_disk.Exists(LogFiles.StoreFile(_replica)))
        {
            throw new StoreFormatException(
                _replica,
                $"there is a replica's store already, beside the one in {_data}: one of them must go elsewhere.");
        }

        if (!CleanMarker.TryRead(_disk, _data, StoreId, out LogPosition end))
            throw new StoreFormatException(_data, $"the broker was not stopped in order: {StartAndStop}");
        var opening = new ReplicaOpening(_disk, LogFiles.LogDirectory(_data), LogId);
        opening.Run(StoreId, CancellationToken.None);
        if (opening.Tail.End != end || opening.HasBytesBehind)
        {
            throw new StoreFormatException(
                _data,
                $"the log ends at {end}, and a replica's would end at {opening.Tail.End}, where it is damaged: "
                + StartAndStop);
        }

        return end;
    }

    /// <summary>Folders that hold nothing may stay: this one is for people.</summary>
    private static void RemoveEmpty(string folder)
    {
        try
        {
            if (Directory.Exists(folder))
                Directory.Delete(folder);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // Something else is in it.
        }
    }
}
