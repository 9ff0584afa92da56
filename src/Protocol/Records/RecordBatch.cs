using static System.Buffers.Binary.BinaryPrimitives;
using At = EQueue.Protocol.RecordBatchLayout;

namespace EQueue.Protocol;

/// <summary>What can be done with a whole encoded batch. Layout: <see cref="RecordBatchLayout"/>.</summary>
/// <remarks>Works on the caller's bytes, keeps nothing, safe on any thread.</remarks>
public static partial class RecordBatch
{
    /// <summary>Reads the header of the batch that <paramref name="bytes"/> begin with; more may follow.</summary>
    /// <param name="bytes">At least the whole batch.</param>
    /// <param name="header">Reads in place.</param>
    /// <param name="error">None, or InvalidBatch: too short, other magic, impossible counts.</param>
    /// <returns>Whether <paramref name="header"/> may be used. The CRC is not looked at.</returns>
    public static bool TryReadHeader(ReadOnlySpan<byte> bytes, out RecordBatchHeader header, out ErrorCode error)
    {
        error = ErrorCode.InvalidBatch;
        header = default;
        if (bytes.Length < At.HeaderSize || bytes[At.Magic] != At.CurrentMagic)
            return false;

        int length = ReadInt32BigEndian(bytes[At.Length..]);
        if (length < At.HeaderSize - At.LengthPrefix || length > bytes.Length - At.LengthPrefix)
            return false;

        header = new RecordBatchHeader(bytes);
        if (header.LastOffsetDelta is < 0 or int.MaxValue
            || header.RecordsCount < 0 || header.RecordsCount > header.LastOffsetDelta + 1)
        {
            return false;
        }

        error = ErrorCode.None;
        return true;
    }

    /// <summary>Applies the rules for a batch that comes from a producer.</summary>
    /// <param name="batch">Exactly one batch.</param>
    /// <param name="header">May be used when None or CorruptBatch is returned.</param>
    /// <returns>None; CorruptBatch: the CRC differs; InvalidBatch: not exactly one batch, other magic, records count
    /// other than last offset delta + 1 or more than the bytes can hold, or a control batch.</returns>
    public static ErrorCode Check(ReadOnlySpan<byte> batch, out RecordBatchHeader header)
    {
        if (!TryReadHeader(batch, out header, out ErrorCode error))
            return error;
        if (header.TotalSize != batch.Length || header.IsControl || header.RecordsCount != header.LastOffsetDelta + 1L)
            return ErrorCode.InvalidBatch;
        if (header.Codec == RecordCodec.None
            && header.RecordsCount > (batch.Length - At.HeaderSize) / At.MinRecordSize)
        {
            return ErrorCode.InvalidBatch;
        }

        return HasValidCrc(batch) ? ErrorCode.None : ErrorCode.CorruptBatch;
    }

    /// <summary>Whether the CRC-32C of exactly one batch is that of its bytes.</summary>
    public static bool HasValidCrc(ReadOnlySpan<byte> batch) =>
        batch.Length >= At.HeaderSize && ReadUInt32BigEndian(batch[At.Crc..]) == Crc32C.Compute(batch[At.Attributes..]);

    /// <summary>Writes what the broker decides: base offset (bytes 0-7) and epoch (12-15). Neither is covered by the
    /// CRC.</summary>
    /// <param name="batch">At least a header.</param>
    /// <param name="baseOffset">Offset of the first record.</param>
    /// <param name="epoch">Epoch of the log: 0 or more.</param>
    public static void Stamp(Span<byte> batch, QueueOffset baseOffset, int epoch)
    {
        WriteInt64BigEndian(batch, baseOffset.Value);
        WriteInt32BigEndian(batch[At.LeaderEpoch..], epoch);
    }

    /// <summary>Gives a finished batch another sender: for a producer whose session was renewed before the batch was
    /// stored.</summary>
    /// <param name="batch">Exactly one batch; its CRC is computed anew.</param>
    /// <param name="producer">The new session.</param>
    /// <param name="baseSequence">Sequence of the first record in that session; -1 with <see
    /// cref="ProducerSession.None"/>.</param>
    public static void SetProducer(Span<byte> batch, ProducerSession producer, int baseSequence)
    {
        WriteInt64BigEndian(batch[At.ProducerId..], producer.Id);
        WriteInt16BigEndian(batch[At.ProducerEpoch..], producer.Epoch);
        WriteInt32BigEndian(batch[At.BaseSequence..], baseSequence);
        WriteUInt32BigEndian(batch[At.Crc..], Crc32C.Compute(batch[At.Attributes..]));
    }
}
