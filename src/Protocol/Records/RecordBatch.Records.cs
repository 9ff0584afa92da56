using At = EQueue.Protocol.RecordBatchLayout;

namespace EQueue.Protocol;

public static partial class RecordBatch
{
    /// <summary>Looks at every record of a batch that <see cref="Check"/> let pass: whether each reader can read it,
    /// and what is in it. A compressed batch is decompressed for that, into pooled memory.</summary>
    /// <param name="batch">Exactly one batch.</param>
    /// <param name="header">Its header.</param>
    /// <param name="maxPlainBytes">The most bytes that a compressed batch may have uncompressed, header included; 0:
    /// none may be compressed.</param>
    /// <param name="tagBits">What the sender says of the tags (<see cref="TagBits"/>); what the records say, if it
    /// says anything. 0, which no batch has, becomes <see cref="TagBits.Unknown"/>.</param>
    /// <param name="largestBody">Bytes of the longest body.</param>
    /// <returns>None; InvalidBatch: other records than the header says, offset deltas other than 0, 1, 2, ..., lengths
    /// that do not fit, times beyond the years 1 to 9999; UnsupportedCodec: none that <see cref="RecordCodec"/> names,
    /// or no compressed batch is allowed; MessageTooLarge: longer than the limit when uncompressed.</returns>
    /// <remarks>Allocates nothing for a batch that is not compressed. Thread-safe.</remarks>
    public static ErrorCode CheckRecords(
        ReadOnlyMemory<byte> batch,
        in RecordBatchHeader header,
        int maxPlainBytes,
        ref uint tagBits,
        out int largestBody)
    {
        largestBody = 0;
        if (header.Codec == RecordCodec.None)
            return Walk(batch.Span, header.RecordsCount, ref tagBits, out largestBody);
        if (header.Codec > RecordCodec.Zstd || maxPlainBytes == 0)
            return ErrorCode.UnsupportedCodec;
        using var buffer = new PlainBuffer(
            ExpectedRatio * batch.Length, Math.Max(maxPlainBytes, At.HeaderSize));
        ErrorCode error = DecompressInto(buffer, batch, header.Codec);
        return error == ErrorCode.None
            ? Walk(buffer.Batch, header.RecordsCount, ref tagBits, out largestBody)
            : error;
    }

    private static ErrorCode Walk(
        ReadOnlySpan<byte> batch, int recordsCount, ref uint tagBits, out int largestBody)
    {
        bool wantsTags = !Protocol.TagBits.IsEverything(tagBits);
        bool isGood = RecordWalk.TryWalk(batch, recordsCount, wantsTags, out RecordWalk walk);
        largestBody = walk.LargestBody;
        tagBits = wantsTags && isGood ? walk.TagBits : Protocol.TagBits.Unknown;
        return isGood ? ErrorCode.None : ErrorCode.InvalidBatch;
    }
}
