using System.Buffers.Binary;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Reads a snapshot back into the log's state. Layout: <see cref="SnapshotWriter"/>.</summary>
/// <remarks>One thread. Check <see cref="Verify"/> first: nothing is taken out of a snapshot with a wrong
/// byte.</remarks>
internal sealed class SnapshotReader : IDisposable
{
    private readonly SectionFileReader _file;

    private SnapshotReader(SectionFileReader file) => _file = file;

    /// <summary>What the snapshot covers.</summary>
    public SectionFileHeader Header => _file.Header;

    /// <summary>Opens a snapshot of this log and checks its header.</summary>
    public static FileVerdict TryOpen(
        IDisk disk, string path, Guid logId, LogPosition startPosition, out SnapshotReader? snapshot)
    {
        snapshot = null;
        FileVerdict verdict = SectionFileReader.TryOpen(disk, path, SnapshotWriter.Magic, out SectionFileReader? file);
        if (verdict != FileVerdict.Valid)
            return verdict;
        if (file!.Header.LogId != logId || file.Header.StartPosition != startPosition)
        {
            file.Dispose();
            return FileVerdict.Damaged;
        }

        snapshot = new SnapshotReader(file);
        return FileVerdict.Valid;
    }

    /// <summary>Whether every section is there and as it was written.</summary>
    public bool Verify() =>
        _file.TryFind(SnapshotWriter.MarksSection, out _) && _file.TryFind(SnapshotWriter.QueuesSection, out _)
        && _file.TryFind(SnapshotWriter.ProducersSection, out _) && _file.TryFind(SnapshotWriter.MachineSection, out _)
        && _file.VerifyAll();

    /// <summary>Fills an empty state.</summary>
    /// <returns>The highest stored time that the snapshot knows.</returns>
    /// <exception cref="StoreFormatException">A section is not built as this version builds it.</exception>
    public long Load(LogState state)
    {
        long lastStoredTimeMs = LoadMarks(state);
        LoadQueues(state.Queues);
        LoadProducers(state.Producers);
        LoadMachine(state);
        LoadChecks(state.Producers);
        LoadTimeResets(state.TimeResets);
        return lastStoredTimeMs;
    }

    /// <summary>The latest time at which the log was used with a clock that was not in doubt (Unix ms), and the best
    /// bound of its bytes; versions that did not write them had no doubt, and no bound to keep.</summary>
    public (long ConfirmedMs, long BoundBytes) LoadTrust()
    {
        if (!_file.TryFind(SnapshotWriter.TrustSection, out FileSection section))
            return (Header.CreatedMs, 0);
        using var cursor = new SectionCursor(_file, section);
        ReadOnlySpan<byte> bytes = Take(cursor, SnapshotWriter.TrustSize);
        return (
            BinaryPrimitives.ReadInt64LittleEndian(bytes), BinaryPrimitives.ReadInt64LittleEndian(bytes[8..]));
    }

    /// <summary>The epochs that the snapshot knows; none in one of an earlier build.</summary>
    /// <exception cref="StoreFormatException">The section is not built as this version builds it.</exception>
    public List<HistoryEpoch> LoadEpochs()
    {
        var epochs = new List<HistoryEpoch>();
        if (!_file.TryFind(SnapshotWriter.EpochsSection, out FileSection section))
            return epochs;
        using var cursor = new SectionCursor(_file, section);
        for (long i = 0; i < section.ItemCount; i++)
        {
            ReadOnlySpan<byte> row = Take(cursor, SnapshotWriter.EpochSize);
            var mark = new HistoryMark(
                BinaryPrimitives.ReadInt32LittleEndian(row), BinaryPrimitives.ReadUInt32LittleEndian(row[4..]));
            epochs.Add(new HistoryEpoch(mark, BinaryPrimitives.ReadInt64LittleEndian(row[8..])));
        }

        return epochs;
    }

    /// <inheritdoc/>
    public void Dispose() => _file.Dispose();

    private long LoadMarks(LogState state)
    {
        using SectionCursor cursor = Open(SnapshotWriter.MarksSection, out _);
        ReadOnlySpan<byte> bytes = Take(cursor, SnapshotWriter.MarksSize);
        state.Queues.NextId = BinaryPrimitives.ReadUInt32LittleEndian(bytes);
        state.Producers.Reserve(BinaryPrimitives.ReadInt64LittleEndian(bytes[8..]));
        return BinaryPrimitives.ReadInt64LittleEndian(bytes[16..]);
    }

    private void LoadQueues(QueueTable queues)
    {
        using SectionCursor cursor = Open(SnapshotWriter.QueuesSection, out FileSection section);
        for (long i = 0; i < section.ItemCount; i++)
        {
            var row = SnapshotQueue.Read(Take(cursor, SnapshotQueue.RowSize));
            Queue queue = queues.Open(row.Id, row.TopicId, row.Number);
            queue.Start = queue.VisibleStart = row.Start;
            queue.NextOffset = row.NextOffset;
            queue.AppliedPosition = row.AppliedPosition;
            queue.LastStoredTimeMs = row.LastStoredTimeMs;
            queue.Bytes = row.Bytes;
            queue.StartBytes = row.StartBytes;
        }
    }

    private void LoadProducers(ProducerTable producers)
    {
        using SectionCursor cursor = Open(SnapshotWriter.ProducersSection, out FileSection section);
        for (long i = 0; i < section.ItemCount; i++)
        {
            ReadOnlySpan<byte> head = Take(cursor, SnapshotWriter.ProducerSize);
            long id = BinaryPrimitives.ReadInt64LittleEndian(head);
            short epoch = BinaryPrimitives.ReadInt16LittleEndian(head[8..]);
            int windowCount = BinaryPrimitives.ReadInt32LittleEndian(head[12..]);
            long lastSeenMs = BinaryPrimitives.ReadInt64LittleEndian(head[16..]);
            ProducerState producer = producers.SetEpoch(new ProducerSession(id, epoch));
            producer.LastSeenMs = lastSeenMs;
            for (int window = 0; window < windowCount; window++)
                LoadWindow(cursor, producer);
        }
    }

    private void LoadWindow(SectionCursor cursor, ProducerState producer)
    {
        ReadOnlySpan<byte> head = Take(cursor, SnapshotWriter.WindowSize);
        SequenceWindow window = producer.FindOrAdd(new QueueId(BinaryPrimitives.ReadUInt32LittleEndian(head)));
        int batchCount = BinaryPrimitives.ReadInt32LittleEndian(head[4..]);
        for (int i = 0; i < batchCount; i++)
        {
            ReadOnlySpan<byte> row = Take(cursor, SnapshotWriter.BatchSize);
            window.Add(new SequencedBatch(
                BinaryPrimitives.ReadInt32LittleEndian(row),
                BinaryPrimitives.ReadInt32LittleEndian(row[4..]),
                BinaryPrimitives.ReadInt64LittleEndian(row[8..]),
                BinaryPrimitives.ReadInt64LittleEndian(row[16..]),
                BinaryPrimitives.ReadInt64LittleEndian(row[24..])));
        }
    }

    private void LoadMachine(LogState state)
    {
        using SectionCursor cursor = Open(SnapshotWriter.MachineSection, out FileSection section);
        for (long i = 0; i < section.ItemCount; i++)
        {
            ReadOnlySpan<byte> head = Take(cursor, SnapshotWriter.RecordSize);
            byte kind = head[0];
            uint keySize = BinaryPrimitives.ReadUInt32LittleEndian(head[4..]);
            uint valueSize = BinaryPrimitives.ReadUInt32LittleEndian(head[8..]);
            ReadOnlySpan<byte> bytes = Take(cursor, (long)keySize + valueSize);
            state.Apply(new StateRecord(kind, bytes[..(int)keySize], bytes[(int)keySize..], isDeleted: false), 0);
        }
    }

    private void LoadTimeResets(TimeResets resets)
    {
        if (!_file.TryFind(SnapshotWriter.TimeResetsSection, out FileSection section))
            return;
        using var cursor = new SectionCursor(_file, section);
        for (long i = 0; i < section.ItemCount; i++)
        {
            ReadOnlySpan<byte> row = Take(cursor, SnapshotWriter.TimeResetSize);
            resets.Add(
                BinaryPrimitives.ReadInt64LittleEndian(row), BinaryPrimitives.ReadInt64LittleEndian(row[8..]));
        }
    }

    /// <summary>An older snapshot has none: what it remembers counts as stored, whatever its bytes.</summary>
    private void LoadChecks(ProducerTable producers)
    {
        if (!_file.TryFind(SnapshotWriter.ChecksSection, out FileSection section))
            return;
        using var cursor = new SectionCursor(_file, section);
        for (long i = 0; i < section.ItemCount; i++)
        {
            ReadOnlySpan<byte> row = Take(cursor, SnapshotWriter.CheckSize);
            ProducerState? producer = producers.Find(BinaryPrimitives.ReadInt64LittleEndian(row));
            producer?.Find(new QueueId(BinaryPrimitives.ReadUInt32LittleEndian(row[8..])))?.SetCrc(
                BinaryPrimitives.ReadInt64LittleEndian(row[16..]), BinaryPrimitives.ReadUInt32LittleEndian(row[12..]));
        }
    }

    private SectionCursor Open(ushort type, out FileSection section) =>
        _file.TryFind(type, out section)
            ? new SectionCursor(_file, section)
            : throw new StoreFormatException(_file.Path, $"the snapshot has no section {type}.");

    private ReadOnlySpan<byte> Take(SectionCursor cursor, long size) =>
        cursor.TryTake(size, out ReadOnlySpan<byte> bytes)
            ? bytes
            : throw new StoreFormatException(
                _file.Path, $"a section of the snapshot ends early: {size} bytes expected, {cursor.Remaining} found.");
}
