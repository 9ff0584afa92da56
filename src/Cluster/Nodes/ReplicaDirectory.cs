using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Replication;
using Microsoft.Extensions.Logging;

namespace EQueue.Cluster;

/// <summary>The directory of a replica, and the record that its rules keep there: open as files while the replica
/// follows; while it leads the store has it, but for the note with the record.</summary>
internal sealed class ReplicaDirectory : IDisposable
{
    private readonly ReplicaFilesOptions _options;
    private readonly ILogger _logger;
    private readonly TimeProvider _time;
    private readonly Action<Exception> _failed;
    private readonly Lock _soonLock = new();
    private ReplicaNoteFile? _note;
    private ReplicaRecord? _unwritten;
    private ReplicaRecord? _later;
    private Task _writing = Task.CompletedTask;
    private bool _isWriting;
    private volatile bool _hasEnded;

    /// <param name="options">Where it is.</param>
    /// <param name="files">The directory's from here on.</param>
    /// <param name="logger">For what is found when the files are opened again.</param>
    /// <param name="time">For the pace of notes.</param>
    /// <param name="failed">Told that a record could not be written, on a thread of the pool.</param>
    public ReplicaDirectory(
        ReplicaFilesOptions options, ReplicaFiles files, ILogger logger, TimeProvider time, Action<Exception> failed) =>
        (_options, Files, _logger, _time, _failed) = (options, files, logger, time, failed);

    /// <summary>Held while the files are used.</summary>
    public Lock Lock { get; } = new();

    /// <summary>The open files; null while the replica leads. Under their lock.</summary>
    public ReplicaFiles? Files { get; private set; }

    /// <summary>Writes a record durably; later, while it stands nowhere.</summary>
    public void Persist(ReplicaRecord record)
    {
        lock (Lock)
        {
            _ = TakeLater(); // older
            _unwritten = record;
            WriteRecord();
        }
    }

    /// <summary>Has a record written on a thread of the pool; of several the newest counts.</summary>
    public void PersistSoon(ReplicaRecord record)
    {
        lock (_soonLock)
        {
            _later = record;
            if (_isWriting)
                return;
            _isWriting = true;
            _writing = Task.Run(WriteLater);
        }
    }

    /// <summary>Gives the files up for the store of a leader: from now on the record stands in the note. Under the
    /// lock, while the files are open.</summary>
    /// <returns>Below it they are durable.</returns>
    /// <exception cref="DiskException">The disk failed.</exception>
    public LogPosition HandOver()
    {
        ReplicaFiles files = Files!;
        // A copy counts from the sync on that finds it complete; with async flush that may not have been yet.
        if (files.Note.IsCopying)
            files.Sync();
        LogPosition durable = files.Durable;
        Guid store = files.StoreId;
        files.Dispose();
        Files = null;
        _note = ReplicaNoteFile.Open(_options, store);
        return durable;
    }

    /// <summary>Opens the files again when no store has them any more.</summary>
    /// <returns>False when they are open.</returns>
    /// <exception cref="DiskException">The disk failed.</exception>
    public bool TryReopen(CancellationToken cancellationToken)
    {
        lock (Lock)
        {
            if (Files is not null)
                return false;
            _note = null;
            Files = ReplicaFiles.Open(_options, _logger, _time, cancellationToken);
            WriteRecord();
            return true;
        }
    }

    /// <summary>Writes no record any more that was to be written soon.</summary>
    /// <returns>Completes when none is being written.</returns>
    public Task EndWritingAsync()
    {
        _hasEnded = true;
        lock (_soonLock)
            return _writing;
    }

    /// <summary>A leader stops in order: the note has its last record. Nothing when it follows.</summary>
    /// <param name="record">The newest.</param>
    /// <param name="led">Below it the store was durable; null when there was none.</param>
    public void CloseNote(ReplicaRecord record, LogPosition? led)
    {
        lock (Lock)
        {
            if (_note is not { } note)
                return;
            LogPosition durable = led ?? note.Note.Durable;
            byte[] bytes = RecordCodec.Write(record with { Durable = durable });
            note.Write(note.Note with { Durable = durable, Record = bytes });
        }
    }

    /// <summary>Makes what is here durable, and marks the directory as clean. Nothing while a store has it.</summary>
    public void CloseInOrder()
    {
        lock (Lock)
            Files?.CloseInOrder();
    }

    /// <summary>Closes the files as they are.</summary>
    public void Dispose()
    {
        lock (Lock)
        {
            Files?.Dispose();
            Files = null;
        }
    }

    /// <summary>Writes until nothing newer has come meanwhile.</summary>
    private void WriteLater()
    {
        while (IsMoreToWrite())
        {
            try
            {
                lock (Lock)
                {
                    if (TakeLater() is not { } record)
                        continue;
                    _unwritten = record;
                    WriteRecord();
                }
            }
            catch (Exception exception)
            {
                _failed(exception);
            }
        }
    }

    private bool IsMoreToWrite()
    {
        lock (_soonLock)
            return _isWriting = _later is not null && !_hasEnded;
    }

    private ReplicaRecord? TakeLater()
    {
        lock (_soonLock)
        {
            ReplicaRecord? record = _hasEnded ? null : _later;
            _later = null;
            return record;
        }
    }

    /// <summary>Writes what is to be written where the record stands now; later, while it stands nowhere. Under the
    /// lock.</summary>
    private void WriteRecord()
    {
        if (_unwritten is not { } record)
            return;
        byte[] bytes = RecordCodec.Write(record);
        if (Files is { } files)
            files.Persist(bytes);
        else if (_note is { } note)
            note.Write(note.Note with { Durable = record.Durable, Record = bytes });
        else
            return;
        _unwritten = null;
    }
}
