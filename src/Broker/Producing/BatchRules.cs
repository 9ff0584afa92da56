using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Which batches may enter the log.</summary>
internal static class BatchRules
{
    /// <summary>Checks a batch against the format, its CRC and the topic's limit of a message's body.</summary>
    /// <param name="batch">The bytes as they came.</param>
    /// <param name="maxBatchBytes">The store's limit.</param>
    /// <param name="maxMessageBytes">The topic's limit.</param>
    /// <param name="messages">Records in the batch.</param>
    public static ErrorCode Check(ReadOnlySpan<byte> batch, int maxBatchBytes, int maxMessageBytes, out int messages)
    {
        messages = 0;
        if (batch.Length > maxBatchBytes)
            return ErrorCode.MessageTooLarge;
        ErrorCode error = RecordBatch.Check(batch, out RecordBatchHeader header);
        if (error != ErrorCode.None)
            return error;
        messages = header.RecordsCount;
        return batch.Length <= maxMessageBytes ? ErrorCode.None : CheckBodies(batch, header, maxMessageBytes);
    }

    /// <summary>
    /// Only a batch larger than the largest body can hold one that is too large: the others are never walked.
    /// </summary>
    private static ErrorCode CheckBodies(ReadOnlySpan<byte> batch, in RecordBatchHeader header, int maxMessageBytes)
    {
        if (header.Codec != RecordCodec.None)
        {
            return batch.Length > maxMessageBytes + (long)LimitOptions.BatchOverheadBytes
                ? ErrorCode.MessageTooLarge
                : ErrorCode.None;
        }

        var cursor = new RecordCursor(batch);
        while (cursor.TryRead(batch, out RecordRange record))
        {
            if (record.BodyLength > maxMessageBytes)
                return ErrorCode.MessageTooLarge;
        }

        return cursor.Error;
    }
}
