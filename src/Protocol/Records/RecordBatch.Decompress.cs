using static System.Buffers.Binary.BinaryPrimitives;
using At = EQueue.Protocol.RecordBatchLayout;

namespace EQueue.Protocol;

public static partial class RecordBatch
{
    private const int CodecMask = 0x07;

    /// <summary>What compressed bytes usually become; more only costs another piece of memory.</summary>
    private const long ExpectedRatio = 4;

    /// <summary>Turns a compressed batch into the same batch uncompressed: header (codec bits cleared, length and CRC
    /// made to fit) and records.</summary>
    /// <param name="batch">Exactly one batch whose CRC was checked.</param>
    /// <param name="maxSizeBytes">The most bytes that the result may have.</param>
    /// <param name="plain">The result, in memory of its own; <paramref name="batch"/> itself if it was not
    /// compressed.</param>
    /// <returns>None; InvalidBatch: header or compressed bytes are bad; UnsupportedCodec: none that <see
    /// cref="RecordCodec"/> names; MessageTooLarge: longer than the limit.</returns>
    public static ErrorCode Decompress(ReadOnlyMemory<byte> batch, int maxSizeBytes, out ReadOnlyMemory<byte> plain)
    {
        plain = default;
        if (!TryReadHeader(batch.Span, out RecordBatchHeader header, out ErrorCode error))
            return error;
        if (header.TotalSize != batch.Length)
            return ErrorCode.InvalidBatch;
        if (header.Codec == RecordCodec.None)
        {
            plain = batch;
            return ErrorCode.None;
        }

        if (maxSizeBytes < At.HeaderSize)
            return ErrorCode.MessageTooLarge;
        using var buffer = new PlainBuffer(ExpectedRatio * batch.Length, maxSizeBytes);
        error = DecompressInto(buffer, batch, header.Codec);
        if (error != ErrorCode.None)
            return error;
        byte[] result = buffer.Batch.ToArray();
        WriteUInt32BigEndian(result.AsSpan(At.Crc), Crc32C.Compute(result.AsSpan(At.Attributes)));
        plain = result;
        return ErrorCode.None;
    }

    /// <summary>Makes the whole plain batch but for its CRC.</summary>
    private static ErrorCode DecompressInto(PlainBuffer buffer, ReadOnlyMemory<byte> batch, RecordCodec codec)
    {
        ErrorCode error = RecordDecoder.Decode(codec, batch[At.HeaderSize..], buffer);
        if (error != ErrorCode.None)
            return error;
        Span<byte> target = buffer.Batch;
        batch.Span[..At.HeaderSize].CopyTo(target);
        WriteInt32BigEndian(target[At.Length..], target.Length - At.LengthPrefix);
        target[At.Attributes + 1] &= unchecked((byte)~CodecMask);
        return ErrorCode.None;
    }
}
