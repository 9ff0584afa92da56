using System.IO.Compression;
using System.Runtime.InteropServices;
using K4os.Compression.LZ4.Streams;
using K4os.Compression.LZ4.Streams.Frames;
using Snappier;
using ZstdSharp;
using static System.Buffers.Binary.BinaryPrimitives;

namespace EQueue.Protocol;

/// <summary>Undoes the compression of a batch's records, each codec in the framings that Kafka's clients
/// write.</summary>
/// <remarks>
/// <code>
/// codec  framing
/// 1      gzip: RFC 1952, members one after another
/// 2      Snappy: one raw block (librdkafka), or xerial: 82 53 4E 41 50 50 59 00, version i32, compatible i32, then
///        blocks with an i32 length before each; big-endian (Kafka's Java client, kafka-python)
/// 3      LZ4: one frame
/// 4      Zstandard: frames one after another, without a dictionary
/// </code>
/// </remarks>
internal static class RecordDecoder
{
    private const int XerialHeaderSize = 16;

    private static ReadOnlySpan<byte> XerialMagic => [0x82, 0x53, 0x4E, 0x41, 0x50, 0x50, 0x59, 0x00];

    /// <summary>Appends the plain records to <paramref name="target"/>.</summary>
    /// <returns>None; InvalidBatch: the bytes are not of that codec; UnsupportedCodec; MessageTooLarge: more than the
    /// target may hold.</returns>
    public static ErrorCode Decode(RecordCodec codec, ReadOnlyMemory<byte> records, PlainBuffer target)
    {
        try
        {
            return codec switch
            {
                RecordCodec.Gzip => DecodeGzip(records, target),
                RecordCodec.Snappy => DecodeSnappy(records.Span, target),
                RecordCodec.Lz4 => DecodeLz4(records, target),
                RecordCodec.Zstd => DecodeZstd(records.Span, target),
                _ => ErrorCode.UnsupportedCodec,
            };
        }
        catch (Exception exception) when (exception is not OutOfMemoryException)
        {
            // Code of others, fed with bytes from anywhere: whatever it throws says that they are not of its format.
            return ErrorCode.InvalidBatch;
        }
    }

    private static ErrorCode DecodeGzip(ReadOnlyMemory<byte> records, PlainBuffer target)
    {
        using MemoryStream source = OpenStream(records);
        using var gzip = new GZipStream(source, CompressionMode.Decompress);
        while (true)
        {
            if (target.Free.IsEmpty && !target.TryGrow())
                return gzip.ReadByte() < 0 ? ErrorCode.None : ErrorCode.MessageTooLarge;
            int read = gzip.Read(target.Free);
            if (read == 0)
                return ErrorCode.None;
            target.Advance(read);
        }
    }

    private static ErrorCode DecodeLz4(ReadOnlyMemory<byte> records, PlainBuffer target)
    {
        using ByteMemoryLZ4FrameReader frame = LZ4Frame.Decode(records);
        Span<byte> one = stackalloc byte[1];
        while (true)
        {
            if (target.Free.IsEmpty && !target.TryGrow())
                return frame.ReadManyBytes(one) == 0 ? ErrorCode.None : ErrorCode.MessageTooLarge;
            int read = frame.ReadManyBytes(target.Free);
            if (read == 0)
                return ErrorCode.None;
            target.Advance(read);
        }
    }

    /// <summary>In one step, so that a frame's claim of a large window costs no memory.</summary>
    private static ErrorCode DecodeZstd(ReadOnlySpan<byte> records, PlainBuffer target)
    {
        using var decompressor = new Decompressor();
        int written;
        while (!decompressor.TryUnwrap(records, target.Free, out written))
        {
            if (!target.TryGrow())
                return ErrorCode.MessageTooLarge;
        }

        target.Advance(written);
        return ErrorCode.None;
    }

    private static ErrorCode DecodeSnappy(ReadOnlySpan<byte> records, PlainBuffer target)
    {
        if (records.Length < XerialHeaderSize || !records.StartsWith(XerialMagic))
            return DecodeSnappyBlock(records, target);
        records = records[XerialHeaderSize..];
        while (!records.IsEmpty)
        {
            if (records.Length < sizeof(int))
                return ErrorCode.InvalidBatch;
            int size = ReadInt32BigEndian(records);
            records = records[sizeof(int)..];
            if (size < 0 || size > records.Length)
                return ErrorCode.InvalidBatch;
            ErrorCode error = DecodeSnappyBlock(records[..size], target);
            if (error != ErrorCode.None)
                return error;
            records = records[size..];
        }

        return ErrorCode.None;
    }

    private static ErrorCode DecodeSnappyBlock(ReadOnlySpan<byte> block, PlainBuffer target)
    {
        int size = Snappy.GetUncompressedLength(block);
        if (!target.TryReserve(size))
            return ErrorCode.MessageTooLarge;
        target.Advance(Snappy.Decompress(block, target.Free[..size]));
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
