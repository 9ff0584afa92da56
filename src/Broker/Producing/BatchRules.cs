using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Which batches may enter the log.</summary>
internal static class BatchRules
{
    /// <summary>Checks a batch against the format, its CRC, whose its producer is, each of its records and the topic's
    /// limit of a message's body. What passes, every reader can read.</summary>
    /// <param name="batch">The bytes as they came.</param>
    /// <param name="access">Of who sent it.</param>
    /// <param name="limits">The broker's.</param>
    /// <param name="maxBatchBytes">The store's limit.</param>
    /// <param name="maxMessageBytes">The topic's limit.</param>
    /// <param name="tagBits">What the sender says of the tags; what readers may rely on.</param>
    /// <param name="messages">Records in the batch.</param>
    public static ErrorCode Check(
        ReadOnlyMemory<byte> batch,
        PeerAccess access,
        LimitOptions limits,
        int maxBatchBytes,
        int maxMessageBytes,
        ref uint tagBits,
        out int messages)
    {
        messages = 0;
        if (batch.Length > maxBatchBytes)
            return ErrorCode.MessageTooLarge;
        ErrorCode error = RecordBatch.Check(batch.Span, out RecordBatchHeader header);
        if (error == ErrorCode.None && header.Producer.IsIdempotent && !access.OwnsProducer(header.Producer.Id))
            error = ErrorCode.UnknownProducer;
        if (error == ErrorCode.None)
        {
            error = RecordBatch.CheckRecords(
                batch, header, limits.MaxDecompressedBytes, ref tagBits, out int largestBody);
            messages = header.RecordsCount;
            if (largestBody > maxMessageBytes && error == ErrorCode.None)
                error = ErrorCode.MessageTooLarge;
        }

        return error;
    }
}
