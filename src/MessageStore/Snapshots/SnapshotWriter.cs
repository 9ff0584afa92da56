using System.Buffers.Binary;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Writes a snapshot: the log's state in absolute values, from which replay starts at a position.</summary>
/// <remarks>
/// One thread, not the owner's. Write the parts in this order, then wait until the log is durable up to the end
/// position, then <see cref="Complete"/>: a snapshot never knows more than the log. Layout: a
/// <see cref="SectionFileHeader"/> and
/// <code>
/// section 1 marks      next queue id u32, reserved u32, next producer id i64, last stored time i64
/// section 2 queues     72 B each: SnapshotQueue
/// section 3 producers  id i64, epoch i16, reserved u16, window count u32, last seen i64; then each window:
///                      queue id u32, batch count u32; then each batch, oldest first:
///                      base sequence i32, last sequence i32, first offset i64, end position u64, stored time i64
/// section 4 machine    kind u8, reserved 3 B, key length u32, value length u32, key, value
/// section 5 epochs     epoch u32, mark u32 (0 = none), start u64; rising. Missing in snapshots of earlier builds
/// section 8 checks     each remembered batch: producer id i64, queue id u32, CRC u32, end position u64; may be missing
/// section 15 resets    only when there are some: position u64, stored time from there on i64
/// section 16 trust     latest time at which the log was used with a clock that was not in doubt i64, the best bound
///                      of the log's bytes i64
/// </code>
/// Little-endian.
/// </remarks>
internal sealed class SnapshotWriter : IDisposable
{
    internal const ushort MarksSection = 1;
    internal const ushort QueuesSection = 2;
    internal const ushort ProducersSection = 3;
    internal const ushort MachineSection = 4;
    internal const ushort EpochsSection = 5;
    internal const ushort ChecksSection = 8;
    internal const ushort TimeResetsSection = 15;
    internal const ushort TrustSection = 16;
    internal const int MarksSize = 24;
    internal const int ProducerSize = 24;
    internal const int WindowSize = 8;
    internal const int BatchSize = 32;
    internal const int RecordSize = 12;
    internal const int EpochSize = 16;
    internal const int CheckSize = 24;
    internal const int TimeResetSize = 16;
    internal const int TrustSize = 16;

    private readonly SectionFileWriter _file;

    /// <summary>Begins a snapshot.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="path">Its final name, from <see cref="LogFiles.Snapshot"/> of the start position.</param>
    public SnapshotWriter(IDisk disk, string path) => _file = new SectionFileWriter(disk, path);

    internal static ReadOnlySpan<byte> Magic => "EQUEUE\0S"u8;

    /// <summary>Bytes written so far.</summary>
    public long Size => _file.FileLength;

    /// <summary>First part: what was given out.</summary>
    public void WriteMarks(uint nextQueueId, long nextProducerId, long lastStoredTimeMs)
    {
        Span<byte> bytes = stackalloc byte[MarksSize];
        bytes.Clear();
        BinaryPrimitives.WriteUInt32LittleEndian(bytes, nextQueueId);
        BinaryPrimitives.WriteInt64LittleEndian(bytes[8..], nextProducerId);
        BinaryPrimitives.WriteInt64LittleEndian(bytes[16..], lastStoredTimeMs);
        _file.BeginSection();
        _file.Write(bytes);
        _file.EndSection(MarksSection, itemCount: 1);
    }

    /// <summary>Second part: every queue, the state queue 0 too.</summary>
    public void WriteQueues(IEnumerable<SnapshotQueue> queues)
    {
        Span<byte> row = stackalloc byte[SnapshotQueue.RowSize];
        long count = 0;
        _file.BeginSection();
        foreach (SnapshotQueue queue in queues)
        {
            queue.Write(row);
            _file.Write(row);
            count++;
        }

        _file.EndSection(QueuesSection, count);
    }

    /// <summary>Third part: every producer.</summary>
    public void WriteProducers(IEnumerable<SnapshotProducer> producers)
    {
        long count = 0;
        _file.BeginSection();
        foreach (SnapshotProducer producer in producers)
        {
            WriteProducer(producer);
            count++;
        }

        _file.EndSection(ProducersSection, count);
    }

    /// <summary>Fourth part: the state machine's records.</summary>
    public void WriteMachine(IEnumerable<StateEntry> entries)
    {
        Span<byte> head = stackalloc byte[RecordSize];
        long count = 0;
        _file.BeginSection();
        foreach (StateEntry entry in entries)
        {
            if (entry.Value is not { } value)
                continue; // what is deleted is not in a snapshot

            head.Clear();
            head[0] = entry.Kind;
            BinaryPrimitives.WriteInt32LittleEndian(head[4..], entry.Key.Length);
            BinaryPrimitives.WriteInt32LittleEndian(head[8..], value.Length);
            _file.Write(head);
            _file.Write(entry.Key.Span);
            _file.Write(value.Span);
            count++;
        }

        _file.EndSection(MachineSection, count);
    }

    /// <summary>Fifth part, behind the others, which older versions read without it: the CRCs of the producers'
    /// batches. Taken later than the third, it may lack batches that left their windows meanwhile: the entries that
    /// replaced them are replayed.</summary>
    public void WriteChecks(IEnumerable<SnapshotProducer> producers)
    {
        Span<byte> row = stackalloc byte[CheckSize];
        long count = 0;
        _file.BeginSection();
        foreach (SnapshotProducer producer in producers)
        {
            foreach ((uint queue, SequencedBatch[] batches) in producer.Windows)
            {
                foreach (SequencedBatch batch in batches)
                {
                    if (batch.Crc is not { } crc)
                        continue;
                    BinaryPrimitives.WriteInt64LittleEndian(row, producer.Id);
                    BinaryPrimitives.WriteUInt32LittleEndian(row[8..], queue);
                    BinaryPrimitives.WriteUInt32LittleEndian(row[12..], crc);
                    BinaryPrimitives.WriteInt64LittleEndian(row[16..], batch.EndPosition);
                    _file.Write(row);
                    count++;
                }
            }
        }

        _file.EndSection(ChecksSection, count);
    }

    /// <summary>Where stored times went back; no section when they never did.</summary>
    public void WriteTimeResets(TimeResets resets)
    {
        if (resets.All.IsEmpty)
            return;
        Span<byte> row = stackalloc byte[TimeResetSize];
        _file.BeginSection();
        foreach ((long position, long timeMs) in resets.All)
        {
            BinaryPrimitives.WriteInt64LittleEndian(row, position);
            BinaryPrimitives.WriteInt64LittleEndian(row[8..], timeMs);
            _file.Write(row);
        }

        _file.EndSection(TimeResetsSection, resets.All.Length);
    }

    /// <summary>The time that is not in doubt (Unix ms), and the best bound of the log's bytes.</summary>
    public void WriteTrust(long confirmedMs, long boundBytes)
    {
        Span<byte> bytes = stackalloc byte[TrustSize];
        BinaryPrimitives.WriteInt64LittleEndian(bytes, confirmedMs);
        BinaryPrimitives.WriteInt64LittleEndian(bytes[8..], boundBytes);
        _file.BeginSection();
        _file.Write(bytes);
        _file.EndSection(TrustSection, itemCount: 1);
    }

    /// <summary>Fifth part: the epochs and where each began.</summary>
    public void WriteEpochs(IReadOnlyList<HistoryEpoch> epochs)
    {
        Span<byte> row = stackalloc byte[EpochSize];
        _file.BeginSection();
        foreach (HistoryEpoch epoch in epochs)
        {
            BinaryPrimitives.WriteInt32LittleEndian(row, epoch.Mark.Epoch);
            BinaryPrimitives.WriteUInt32LittleEndian(row[4..], epoch.Mark.Mark);
            BinaryPrimitives.WriteInt64LittleEndian(row[8..], epoch.Start);
            _file.Write(row);
        }

        _file.EndSection(EpochsSection, epochs.Count);
    }

    /// <summary>Makes the snapshot durable under its name; the log must be durable up to
    /// <paramref name="endPosition"/>.</summary>
    /// <param name="storeId">Of the store.</param>
    /// <param name="logId">Of the log.</param>
    /// <param name="startPosition">Where replay starts: an entry begins there, or the log ends.</param>
    /// <param name="endPosition">The staged end when the last part had been captured.</param>
    /// <param name="epoch">The log's.</param>
    /// <param name="createdMs">Now, Unix milliseconds.</param>
    public void Complete(
        Guid storeId, Guid logId, LogPosition startPosition, LogPosition endPosition, int epoch, long createdMs)
    {
        var header = new SectionFileHeader
        {
            StoreId = storeId,
            LogId = logId,
            StartPosition = startPosition,
            EndPosition = endPosition,
            Epoch = epoch,
            CreatedMs = createdMs,
        };
        _file.Complete(header, Magic);
    }

    /// <inheritdoc/>
    public void Dispose() => _file.Dispose();

    private void WriteProducer(SnapshotProducer producer)
    {
        Span<byte> head = stackalloc byte[ProducerSize];
        head.Clear();
        BinaryPrimitives.WriteInt64LittleEndian(head, producer.Id);
        BinaryPrimitives.WriteInt16LittleEndian(head[8..], producer.Epoch);
        BinaryPrimitives.WriteInt32LittleEndian(head[12..], producer.Windows.Count);
        BinaryPrimitives.WriteInt64LittleEndian(head[16..], producer.LastSeenMs);
        _file.Write(head);

        Span<byte> row = stackalloc byte[BatchSize];
        foreach ((uint queue, SequencedBatch[] batches) in producer.Windows)
        {
            BinaryPrimitives.WriteUInt32LittleEndian(row, queue);
            BinaryPrimitives.WriteInt32LittleEndian(row[4..], batches.Length);
            _file.Write(row[..WindowSize]);
            foreach (SequencedBatch batch in batches)
            {
                BinaryPrimitives.WriteInt32LittleEndian(row, batch.BaseSequence);
                BinaryPrimitives.WriteInt32LittleEndian(row[4..], batch.LastSequence);
                BinaryPrimitives.WriteInt64LittleEndian(row[8..], batch.FirstOffset);
                BinaryPrimitives.WriteInt64LittleEndian(row[16..], batch.EndPosition);
                BinaryPrimitives.WriteInt64LittleEndian(row[24..], batch.StoredTimeMs);
                _file.Write(row);
            }
        }
    }
}
