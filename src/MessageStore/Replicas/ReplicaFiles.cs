using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>The log of a replica that follows: bytes come in as the leader stored them, are cut where the leader does
/// not have them, and nothing is derived from them here.</summary>
/// <remarks>
/// One thread at a time; none of its own. Everything blocks. The directory is one that <see cref="QueueStore"/> opens:
/// that is how a replica comes to lead. The log ends at its first hole, for replicas count by position. After a
/// <see cref="DiskException"/> of a write or a sync nothing is known of the disk: dispose, and open anew.
/// </remarks>
public sealed partial class ReplicaFiles : IDisposable
{
    private readonly ReplicaFilesOptions _options;
    private readonly IDisk _disk;
    private readonly ILogger _logger;
    private readonly IDisposable _lock;
    private readonly StoreHeader _store;
    private readonly ReplicaNotes _notes;
    private readonly ReplicaLog _log;
    private readonly ReplicaCopies _copies;

    private ReplicaFiles(
        ReplicaFilesOptions options,
        IDisk disk,
        IDisposable directoryLock,
        StoreHeader store,
        ReplicaNoteFile note,
        ReplicaOpening opening,
        ILogger logger,
        TimeProvider time)
    {
        (_options, _disk, _lock, _store, _logger) = (options, disk, directoryLock, store, logger);
        var folder = new ReplicaFolder(disk, LogFiles.LogDirectory(options.DataDirectory), store);
        _notes = new ReplicaNotes(note, time);
        _log = new ReplicaLog(folder, _notes, opening, options.SegmentSizeBytes, time);
        _copies = new ReplicaCopies(folder, _notes, _log);
        IsWhole = !note.Note.IsCopying && Tail.End >= note.Note.Durable;
    }

    /// <summary>Random id of the store: every replica's is the same.</summary>
    public Guid StoreId => _store.StoreId;

    /// <summary>Random id of the log, which seeds the checksums of its entries.</summary>
    public Guid LogId => _store.LogIds[0];

    /// <summary>Where the log begins: what was before is packed, or gone.</summary>
    public LogPosition Begin => _log.Begin;

    /// <summary>The end of what was handed to the system, and the entry before it.</summary>
    public ReplicaTail Tail => _log.Tail;

    /// <summary>Below it this disk has everything for certain.</summary>
    public LogPosition Durable => _log.Durable;

    /// <summary>Whether opening found everything that was noted as durable.</summary>
    public bool IsWhole { get; }

    /// <summary>What the directory says of itself.</summary>
    public ReplicaNote Note => _notes.Note;

    /// <summary>Whether the directory has been closed in order up to its end; the mark is gone with the first
    /// change.</summary>
    public bool IsClean { get; private init; }

    /// <summary>The newest epoch up to <paramref name="epoch"/> that has entries here, and where it ends.</summary>
    /// <returns>Epoch 0 with end 0 when there is none.</returns>
    public (int Epoch, LogPosition End) EndOfEpoch(int epoch) => _log.EndOfEpoch(epoch);

    /// <summary>Makes a directory and those above it; nothing when it exists.</summary>
    /// <exception cref="DiskException">The disk failed.</exception>
    public static void MakeDirectory(ReplicaFilesOptions options) => Place(options);

    /// <summary>Whether a directory holds a store.</summary>
    /// <exception cref="DiskException">The disk failed.</exception>
    public static bool Exists(ReplicaFilesOptions options)
    {
        (IDisk disk, string data) = Place(options);
        return disk.Exists(LogFiles.StoreFile(data));
    }

    /// <summary>Makes the directory of a new replica.</summary>
    /// <param name="options">Where; the directory holds no store.</param>
    /// <param name="storeId">The leader's.</param>
    /// <param name="logId">The leader's.</param>
    /// <param name="time">For its creation time.</param>
    /// <exception cref="ReplicaException">There is a store.</exception>
    /// <exception cref="DiskException">The disk failed.</exception>
    public static void Create(ReplicaFilesOptions options, Guid storeId, Guid logId, TimeProvider time)
    {
        (IDisk disk, string data) = Place(options);
        string directory = LogFiles.LogDirectory(data);
        disk.CreateDirectory(directory);
        disk.SyncDirectory(Path.GetDirectoryName(directory)!);
        disk.SyncDirectory(data);
        FolderNames.Sync(disk, data);
        string path = LogFiles.StoreFile(data);
        if (disk.Exists(path))
            throw new ReplicaException($"{data} holds a store already.");
        var store = new StoreHeader
        {
            StoreId = storeId,
            CreatedMs = time.GetUtcNow().ToUnixTimeMilliseconds(),
            LogIds = [logId],
        };
        WholeFile.Write(disk, path, store.ToBytes());
    }

    /// <summary>Opens a replica's directory: finds the end, and makes durable what is not for certain.</summary>
    /// <param name="options">Where.</param>
    /// <param name="logger">For what was found.</param>
    /// <param name="time">For the pace of notes.</param>
    /// <param name="cancellationToken">Looked at between segments while nothing is changed.</param>
    /// <exception cref="DiskException">The directory is locked, or the disk failed.</exception>
    /// <exception cref="StoreFormatException">There is no store, or it is of a later version.</exception>
    public static ReplicaFiles Open(
        ReplicaFilesOptions options, ILogger logger, TimeProvider time, CancellationToken cancellationToken)
    {
        (IDisk disk, string data) = Place(options);
        options = options with { DataDirectory = data };
        IDisposable directoryLock = disk.Lock(LogFiles.LockFile(data));
        try
        {
            string path = LogFiles.StoreFile(data);
            FileVerdict verdict =
                StoreHeader.Read(WholeFile.Read(disk, path, StoreHeader.MaxLength), out StoreHeader? store);
            if (verdict == FileVerdict.Refused)
                throw LaterVersion.Refuse(disk, path);
            if (verdict != FileVerdict.Valid)
                throw new StoreFormatException(path, $"no store is told there ({verdict}).");
            var note = ReplicaNoteFile.Open(
                disk, data, new ReplicaNote(store!.StoreId, default, IsCopying: false, default));
            var opening = new ReplicaOpening(disk, LogFiles.LogDirectory(data), store.LogIds[0]);
            opening.Run(store.StoreId, cancellationToken);
            bool isClean = CleanMarker.TryRead(disk, data, store.StoreId, out LogPosition end)
                && end == opening.Tail.End;
            options = options with { SegmentSizeBytes = VolumeFit.SegmentOf(options, disk) };
            var files = new ReplicaFiles(options, disk, directoryLock, store, note, opening, logger, time)
            {
                IsClean = isClean,
            };
            files._log.TidyUp(opening.Replaced);
            files.MakeDurable();
            return files;
        }
        catch
        {
            directoryLock.Dispose();
            throw;
        }
    }

    /// <summary>Writes what the rules of replication keep, durably, with what is durable now.</summary>
    /// <param name="record">At most <see cref="ReplicaNote.MostRecordBytes"/>.</param>
    /// <exception cref="InvalidOperationException">It is longer.</exception>
    public void Persist(ReadOnlyMemory<byte> record) =>
        _notes.Write(_notes.Note with { Durable = Durable, Record = record });

    /// <summary>Says that the directory is closed in order: the next opening finds everything up to the end.</summary>
    /// <exception cref="DiskException">The disk failed.</exception>
    public void CloseInOrder()
    {
        Sync();
        _notes.Write(_notes.Note with { Durable = Durable });
        CleanMarker.Write(_disk, _options.DataDirectory, StoreId, Durable);
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _log.Dispose();
        _lock.Dispose();
    }

    private static (IDisk Disk, string Data) Place(ReplicaFilesOptions options)
    {
        IDisk disk = options.Disk ?? PortableDisk.ForThisSystem();
        string data = Path.GetFullPath(options.DataDirectory);
        disk.CreateDirectory(data);
        return (disk, data);
    }

    /// <summary>Makes durable what is not for certain, and notes it.</summary>
    private void MakeDurable()
    {
        long from = IsClean ? Tail.End.Value : Math.Min(Note.Durable.Value, Tail.End.Value);
        _log.MakeDurable(from);
        if (Note.Durable != Durable)
            _notes.Write(Note with { Durable = Durable });
        CleanMarker.Remove(_disk, _options.DataDirectory);
        Log.ReplicaOpened(_logger, _options.DataDirectory, Tail.End.Value, Tail.Epoch, Tail.End.Value - from, IsWhole);
    }
}
