using System.IO.Compression;
using System.Runtime.InteropServices;
using static System.Buffers.Binary.BinaryPrimitives;
using At = EQueue.Protocol.RecordBatchLayout;

namespace EQueue.Protocol;

public static partial class RecordBatch
{
    private const int CodecMask = 0x07;

    /// <summary>Turns a compressed batch into the same batch uncompressed: header (codec bits cleared, length and CRC
    /// made to fit) and records.</summary>
    /// <param name="batch">Exactly one batch whose CRC was checked.</param>
    /// <param name="maxSizeBytes">The most bytes that the result may have.</param>
    /// <param name="plain">The result; <paramref name="batch"/> itself if it was not compressed.</param>
    /// <returns>None; InvalidBatch: header or compressed bytes are bad; UnsupportedCodec: not gzip; MessageTooLarge:
    /// longer than the limit.</returns>
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

        return header.Codec == RecordCodec.Gzip ? Gunzip(batch, maxSizeBytes, out plain) : ErrorCode.UnsupportedCodec;
    }

    private static ErrorCode Gunzip(ReadOnlyMemory<byte> batch, int maxSizeBytes, out ReadOnlyMemory<byte> plain)
    {
        plain = default;
        if (maxSizeBytes < At.HeaderSize)
            return ErrorCode.MessageTooLarge;
        byte[] target = new byte[Math.Min(maxSizeBytes, At.HeaderSize + (4L * batch.Length))];
        int size = At.HeaderSize;
        try
        {
            using var source = OpenStream(batch[At.HeaderSize..]);
            using var gzip = new GZipStream(source, CompressionMode.Decompress);
            while (true)
            {
                if (size == target.Length)
                {
                    // Full: one byte more decides between the end, more room and the limit.
                    int next = gzip.ReadByte();
                    if (next < 0)
                        break;
                    if (size == maxSizeBytes)
                        return ErrorCode.MessageTooLarge;
                    Array.Resize(ref target, (int)Math.Min(maxSizeBytes, 2L * size));
                    target[size++] = (byte)next;
                }

                int read = gzip.Read(target, size, target.Length - size);
                size += read;
                if (read == 0 && size < target.Length)
                    break;
            }
        }
        catch (InvalidDataException)
        {
            return ErrorCode.InvalidBatch;
        }

        batch.Span[..At.HeaderSize].CopyTo(target);
        WriteInt32BigEndian(target.AsSpan(At.Length), size - At.LengthPrefix);
        target[At.Attributes + 1] &= unchecked((byte)~CodecMask);
        WriteUInt32BigEndian(target.AsSpan(At.Crc), Crc32C.Compute(target.AsSpan(At.Attributes, size - At.Attributes)));
        plain = target.AsMemory(0, size);
        return ErrorCode.None;
    }

    private static MemoryStream OpenStream(ReadOnlyMemory<byte> bytes)
    {
        ArraySegment<byte> segment = MemoryMarshal.TryGetArray(bytes, out ArraySegment<byte> array)
            ? array
            : bytes.ToArray();
        return new MemoryStream(segment.Array!, segment.Offset, segment.Count, writable: false);
    }
}
