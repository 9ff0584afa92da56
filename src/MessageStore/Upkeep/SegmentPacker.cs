using System.Buffers;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Writes one packed segment: what is kept of neighbouring segments, queue by queue, each entry as it
/// was.</summary>
/// <remarks>
/// On the cleaner's thread. Every entry is checked before it is copied; one that is damaged ends the attempt, for a
/// copy would lose where the damage was. Nothing is under the pack's names before it is whole and durable; disposed
/// before <see cref="Pack"/> has ended well, it removes the files that it made.
/// </remarks>
internal sealed class SegmentPacker : IDisposable
{
    private const int BufferSize = 1 << 20;

    private readonly CommitLog _log;
    private readonly IDisk _disk;
    private readonly string _directory;
    private readonly IReadOnlyList<Segment> _sources;
    private readonly Action<int> _pace;
    private readonly List<SealedIndex> _indexes = [];
    private readonly List<IDiskFile> _files = [];
    private readonly SealedEntry[] _entries = new SealedEntry[SealedBlock.MaxEntries];
    private readonly uint _logSeed;
    private readonly long _createdMs;
    private readonly string _path;
    private readonly byte[] _buffer = new byte[BufferSize];
    private IDiskFile? _file;
    private int _buffered;
    private long _flushedTo = SegmentHeader.Length;
    private bool _isCompleted;

    /// <summary>Opens the files of the sources.</summary>
    /// <param name="log">Tells where queues start.</param>
    /// <param name="disk">Where.</param>
    /// <param name="directory">The log's folder.</param>
    /// <param name="sources">Sealed, with an index, side by side.</param>
    /// <param name="generation">Above those of all packs among them.</param>
    /// <param name="createdMs">Now, Unix milliseconds.</param>
    /// <param name="pace">Called with the bytes that were read or written; may wait, and throw to give up.</param>
    public SegmentPacker(
        CommitLog log,
        IDisk disk,
        string directory,
        IReadOnlyList<Segment> sources,
        int generation,
        long createdMs,
        Action<int> pace)
    {
        (_log, _disk, _directory, _sources, _pace, _createdMs) = (log, disk, directory, sources, pace, createdMs);
        _logSeed = EntryHeader.SeedOf(log.LogId);
        _path = PackFile.PathOf(directory, From, generation);
    }

    private LogPosition From => new(_sources[0].BasePosition);

    private LogPosition To => new(_sources[^1].EndPosition);

    /// <summary>Writes pack and index, durably.</summary>
    /// <returns>The segment that takes the place of the sources.</returns>
    /// <exception cref="StoreFormatException">A source is damaged or cannot be read.</exception>
    /// <exception cref="DiskException">The disk failed or is full.</exception>
    /// <exception cref="OperationCanceledException">The store closes or cannot make its state durable now.</exception>
    public Segment Pack()
    {
        OpenSources();
        string temporary = _path + LogFiles.TemporarySuffix;
        _disk.Delete(temporary);
        _file = _disk.Open(temporary, DiskOpen.CreateNew);
        using (var index = new SealedIndexWriter(_disk, PackFile.IndexOf(_path), isPacked: true))
        {
            foreach (List<(int Source, SealedQueue Row)> rows in MergeDirectories())
                PackQueue(index, rows);
            Flush();
            WriteHeader();
            _file.Sync();
            if (!_log.TryMakeStateCommitted(LogCleaner.CommitWait))
            {
                // A power cut must not give back a start or a queue whose messages are gone.
                throw new OperationCanceledException();
            }

            index.Complete(_log.StoreId, _log.LogId, From, To, _log.Epoch, _createdMs);
        }

        // The index has its name first: a pack without one never counts as whole, a later open builds it again.
        _disk.Rename(temporary, _path);
        _disk.SyncDirectory(_directory);
        _isCompleted = true;
        return new Segment(_path, From.Value, To.Value - From.Value, _createdMs)
        {
            EndPosition = To.Value,
            PackedBytes = _flushedTo,
            LiveBytes = _flushedTo - SegmentHeader.Length,
            HasIndex = true,
        };
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _file?.Dispose();
        _indexes.ForEach(index => index.Dispose());
        _files.ForEach(file => file.Dispose());
        if (!_isCompleted && _file is not null)
            RemoveUnfinished();
    }

    /// <summary>The next attempt has another name: what is left of this one would stay until the store is opened
    /// again.</summary>
    private void RemoveUnfinished()
    {
        try
        {
            _disk.Delete(_path + LogFiles.TemporarySuffix);
            _disk.Delete(_path);
            _disk.Delete(PackFile.IndexOf(_path));
        }
        catch (IOException)
        {
            // The disk failed already and that failure is on its way to the cleaner; recovery removes left-overs.
        }
    }

    private void OpenSources()
    {
        foreach (Segment source in _sources)
        {
            _indexes.Add(source.OpenIndex(_disk, _log.LogId));
            _files.Add(_disk.Open(source.Path, DiskOpen.ReadOnly));
        }
    }

    /// <summary>The rows of each queue in all sources, by queue id, oldest source first.</summary>
    private IEnumerable<List<(int Source, SealedQueue Row)>> MergeDirectories()
    {
        var heads = new PriorityQueue<int, (uint Queue, int Source)>();
        List<IEnumerator<SealedQueue>> rows = [.. _indexes.Select(index => index.ReadQueues().GetEnumerator())];
        for (int source = 0; source < rows.Count; source++)
            Advance(source);
        while (heads.TryPeek(out _, out (uint Queue, int Source) first))
        {
            var queue = new List<(int Source, SealedQueue Row)>();
            while (heads.TryPeek(out int source, out (uint Queue, int Source) next) && next.Queue == first.Queue)
            {
                heads.Dequeue();
                queue.Add((source, rows[source].Current));
                Advance(source);
            }

            yield return queue;
        }

        void Advance(int source)
        {
            if (rows[source].MoveNext())
                heads.Enqueue(source, (rows[source].Current.Queue.Value, source));
        }
    }

    private void PackQueue(SealedIndexWriter index, List<(int Source, SealedQueue Row)> rows)
    {
        SealedQueue last = rows[^1].Row;
        Queue? queue = _log.State.Queues.Find(last.Queue);
        if (queue is null)
            return; // removed: its id is never used again

        index.BeginQueue(last.Queue, new QueueOffset(last.NextOffset), last.LastStoredTimeMs);
        if (last.Queue == QueueId.State)
            return; // the snapshots hold what its records said
        foreach ((int source, SealedQueue row) in rows)
        {
            if (row.EntryCount > 0 && row.NextOffset > queue.Start)
                PackRow(index, source, row, queue.Start);
        }
    }

    private void PackRow(SealedIndexWriter index, int source, in SealedQueue row, long start)
    {
        int first = Math.Max(0, _indexes[source].FindBlock(row, new QueueOffset(Math.Max(start, row.FirstOffset))));
        for (int block = first; block < row.BlockCount; block++)
        {
            int count = _indexes[source].ReadBlock(row, block, _entries);
            for (int i = 0; i < count; i++)
            {
                if (_entries[i].EndOffset > start)
                    PackEntry(index, source, row.Queue, _entries[i]);
            }
        }
    }

    private void PackEntry(SealedIndexWriter index, int source, QueueId queue, in SealedEntry entry)
    {
        byte[] bytes = ArrayPool<byte>.Shared.Rent(entry.Size);
        try
        {
            Span<byte> whole = bytes.AsSpan(0, entry.Size);
            int read = _files[source].ReadOrNothing(whole, entry.FileOffset);
            if (read < entry.Size || !StoredEntry.IsWhole(whole, queue, entry, _logSeed))
            {
                throw new StoreFormatException(
                    _sources[source].Path, $"the entry at position {entry.Position} is damaged or unreadable.");
            }

            index.Add(entry with { FileOffset = _flushedTo + _buffered });
            Write(whole);
            _pace(entry.Size);
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }

    private void Write(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > _buffer.Length - _buffered)
            Flush();
        if (bytes.Length > _buffer.Length)
        {
            _file!.Write(bytes, _flushedTo);
            _flushedTo += bytes.Length;
            return;
        }

        bytes.CopyTo(_buffer.AsSpan(_buffered));
        _buffered += bytes.Length;
    }

    private void Flush()
    {
        if (_buffered == 0)
            return;
        _file!.Write(_buffer.AsSpan(0, _buffered), _flushedTo);
        _flushedTo += _buffered;
        _buffered = 0;
    }

    private void WriteHeader()
    {
        var header = new SegmentHeader
        {
            StoreId = _log.StoreId,
            LogId = _log.LogId,
            BasePosition = From,
            Epoch = _log.Epoch,
            CreatedMs = _createdMs,
            Capacity = To.Value - From.Value,
            PackedTo = To,
        };
        byte[] bytes = new byte[SegmentHeader.Length];
        header.Write(bytes);
        _file!.Write(bytes, 0);
    }
}
