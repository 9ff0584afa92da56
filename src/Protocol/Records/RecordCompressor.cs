using System.Buffers;
using System.IO.Compression;
using K4os.Compression.LZ4.Streams;
using Snappier;
using ZstdSharp;
using static System.Buffers.Binary.BinaryPrimitives;
using At = EQueue.Protocol.RecordBatchLayout;

namespace EQueue.Protocol;

/// <summary>Compresses finished batches, in the framing that every Kafka client reads. Reusable.</summary>
/// <remarks>Not thread-safe. Keeps memory of the largest batch's size, and what its codec keeps.</remarks>
public sealed class RecordCompressor : IDisposable
{
    // Kafka's Java client reads no chained blocks.
    private static readonly LZ4EncoderSettings FrameSettings = new() { ChainBlocks = false };

    private readonly RecordCodec _codec;
    private readonly Compressor? _zstd;
    private readonly MemoryStream _gzipped = new();
    private readonly ArrayBufferWriter<byte> _frame = new();
    private byte[] _target = [];

    /// <param name="codec">How; <see cref="RecordCodec.None"/> leaves batches as they are.</param>
    /// <exception cref="ArgumentOutOfRangeException">No such codec.</exception>
    public RecordCompressor(RecordCodec codec)
    {
        if (!Enum.IsDefined(codec))
            throw new ArgumentOutOfRangeException(nameof(codec), codec, "No such codec.");
        _codec = codec;
        _zstd = codec == RecordCodec.Zstd ? new Compressor() : null;
    }

    /// <summary>Compresses the records of a batch in its place, if that makes it smaller.</summary>
    /// <param name="batch">Exactly one batch, uncompressed, with its header.</param>
    /// <returns>Bytes of the batch now, from the start; its length, codec and CRC are made to fit.</returns>
    public int Compress(Span<byte> batch)
    {
        if (_codec == RecordCodec.None)
            return batch.Length;
        Span<byte> records = batch[At.HeaderSize..];
        ReadOnlySpan<byte> encoded = Encode(records);
        if (encoded.Length >= records.Length)
            return batch.Length;
        encoded.CopyTo(records);
        batch = batch[..(At.HeaderSize + encoded.Length)];
        WriteInt32BigEndian(batch[At.Length..], batch.Length - At.LengthPrefix);
        batch[At.Attributes + 1] |= (byte)_codec;
        WriteUInt32BigEndian(batch[At.Crc..], Crc32C.Compute(batch[At.Attributes..]));
        return batch.Length;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _zstd?.Dispose();
        _gzipped.Dispose();
    }

    private ReadOnlySpan<byte> Encode(ReadOnlySpan<byte> records) => _codec switch
    {
        RecordCodec.Gzip => EncodeGzip(records),
        RecordCodec.Lz4 => EncodeLz4(records),
        RecordCodec.Snappy => EncodeSnappy(records),
        _ => EncodeZstd(records),
    };

    private ReadOnlySpan<byte> EncodeGzip(ReadOnlySpan<byte> records)
    {
        _gzipped.SetLength(0);
        using (var gzip = new GZipStream(_gzipped, CompressionLevel.Optimal, leaveOpen: true))
            gzip.Write(records);
        return _gzipped.GetBuffer().AsSpan(0, (int)_gzipped.Length);
    }

    private ReadOnlySpan<byte> EncodeLz4(ReadOnlySpan<byte> records)
    {
        _frame.ResetWrittenCount();
        LZ4Frame.Encode(records, _frame, FrameSettings);
        return _frame.WrittenSpan;
    }

    private ReadOnlySpan<byte> EncodeSnappy(ReadOnlySpan<byte> records)
    {
        int room = Snappy.GetMaxCompressedLength(records.Length);
        if (_target.Length < room)
            _target = new byte[room];
        return _target.AsSpan(0, Snappy.Compress(records, _target));
    }

    private ReadOnlySpan<byte> EncodeZstd(ReadOnlySpan<byte> records)
    {
        if (_target.Length < records.Length)
            _target = new byte[records.Length];

        // No room for more than there was: then it is of no use.
        return _zstd!.TryWrap(records, _target.AsSpan(0, records.Length), out int size)
            ? _target.AsSpan(0, size)
            : records;
    }
}
