using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The files of a backup's folder: which are there, new copies, and what is no longer needed.</summary>
/// <remarks>
/// One thread. A copy gets its name, which holds its size and CRC, when all of it is durable; so every file that has
/// such a name counts, also when the backup that made it was interrupted.
/// </remarks>
internal sealed class BackupFolder
{
    private const int BufferSize = 1 << 20;

    /// <summary>So many bytes at the end of a file are compared: of a segment they hold the seal, with epoch and
    /// time, of an index or snapshot the header has the checksums of all sections.</summary>
    private const int TailSize = 64 * 1024;

    private readonly IDisk _disk;
    private readonly string _directory;
    private readonly Action<int> _moved;
    private readonly byte[] _buffer = new byte[BufferSize];
    private readonly byte[] _other = new byte[TailSize];
    private readonly Dictionary<string, List<BackupFile>> _there = [];

    /// <summary>Lists a folder that is there.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="directory">The backup's folder.</param>
    /// <param name="moved">Called with bytes that were copied; may wait, and throw to give up.</param>
    public BackupFolder(IDisk disk, string directory, Action<int> moved)
    {
        (_disk, _directory, _moved) = (disk, directory, moved);
        foreach (string stored in StoredNames())
        {
            if (BackupFile.TryParse(stored, out BackupFile? file))
                Note(file!);
        }
    }

    /// <summary>The copy of a file as it is now, if the folder has it.</summary>
    /// <param name="source">Which.</param>
    /// <param name="file">It, open for reading.</param>
    /// <param name="size">Bytes of it that count.</param>
    public BackupFile? Find(SourceFile source, IDiskFile file, long size)
    {
        foreach (BackupFile candidate in _there.GetValueOrDefault(source.Name, []))
        {
            if (candidate.Size == size && IsSame(candidate, file))
                return candidate;
        }

        return null;
    }

    /// <summary>Copies a file and makes the copy durable.</summary>
    /// <exception cref="DiskException">One of the disks failed, or the backup's is full; nothing of this copy is
    /// left.</exception>
    public BackupFile Copy(SourceFile source, IDiskFile file, long size)
    {
        string temporary = PathOf(source.Name) + LogFiles.TemporarySuffix;
        _disk.Delete(temporary);
        uint crc = 0;
        try
        {
            using IDiskFile copy = _disk.Open(temporary, DiskOpen.CreateNew);
            for (long done = 0; done < size;)
            {
                Span<byte> bytes = _buffer.AsSpan(0, (int)Math.Min(_buffer.Length, size - done));
                int read = file.Read(bytes, done);
                if (read < bytes.Length)
                    throw new DiskException(DiskFault.Io, source.Path, "read", "the file became shorter meanwhile");
                copy.Write(bytes, done);
                crc = Crc32C.Append(crc, bytes);
                done += read;
                _moved(read);
            }

            copy.Sync();
            copy.Advise(0, size, DiskAdvice.DontNeed);
        }
        catch
        {
            _disk.Delete(temporary);
            throw;
        }

        var made = new BackupFile(source.Name, size, crc);
        _disk.Rename(temporary, PathOf(made.StoredName));
        Note(made);
        return made;
    }

    /// <summary>Makes the names of all copies durable.</summary>
    public void Sync()
    {
        string logs = LogFiles.LogDirectory(_directory);
        _disk.SyncDirectory(logs);
        _disk.SyncDirectory(Path.GetDirectoryName(logs)!);
        _disk.SyncDirectory(_directory);
    }

    /// <summary>Removes what is no part of a backup any more, and copies that were not finished.</summary>
    public void RemoveAllBut(IEnumerable<BackupFile> kept)
    {
        var names = kept.Select(file => file.StoredName).ToHashSet(StringComparer.Ordinal);
        foreach (string stored in StoredNames())
        {
            bool isUnfinished = stored.EndsWith(LogFiles.TemporarySuffix, StringComparison.Ordinal)
                && BackupFile.IsName(stored[..^LogFiles.TemporarySuffix.Length]);
            if (isUnfinished || (BackupFile.TryParse(stored, out _) && !names.Contains(stored)))
                _disk.Delete(PathOf(stored));
        }
    }

    private IEnumerable<string> StoredNames() => _disk.List(_directory).Select(entry => entry.Name).Concat(
        _disk.List(LogFiles.LogDirectory(_directory)).Select(entry => BackupFile.LogFolder + entry.Name));

    private void Note(BackupFile file)
    {
        if (!_there.TryGetValue(file.Name, out List<BackupFile>? same))
            _there.Add(file.Name, same = []);
        same.Add(file);
    }

    private string PathOf(string name) => BackupFile.PathOf(_directory, name);

    /// <summary>Whether a copy has the header and the end of a file. Both tell what is between: a file is written once,
    /// from front to back, and stamped with epoch, time and checksums.</summary>
    private bool IsSame(BackupFile candidate, IDiskFile file)
    {
        using IDiskFile copy = _disk.Open(PathOf(candidate.StoredName), DiskOpen.ReadOnly);
        return copy.Length == candidate.Size && IsSame(copy, file, 0, Math.Min(candidate.Size, SegmentHeader.Length))
            && IsSame(copy, file, Math.Max(0, candidate.Size - TailSize), Math.Min(candidate.Size, TailSize));
    }

    private bool IsSame(IDiskFile one, IDiskFile other, long offset, long size)
    {
        Span<byte> first = _buffer.AsSpan(0, (int)size), second = _other.AsSpan(0, (int)size);
        return one.Read(first, offset) == size && other.Read(second, offset) == size && first.SequenceEqual(second);
    }
}
