using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>An entry as it was read from a file.</summary>
internal static class StoredEntry
{
    /// <summary>Whether the bytes are the entry that an index says stands there, every checksum right.</summary>
    /// <param name="bytes">As many as the index says the entry has.</param>
    /// <param name="queue">Whose it is.</param>
    /// <param name="entry">What the index says.</param>
    /// <param name="logSeed">From <see cref="EntryHeader.SeedOf"/>.</param>
    public static bool IsWhole(
        ReadOnlySpan<byte> bytes, QueueId queue, in SealedEntry entry, uint logSeed)
    {
        if (bytes.Length != entry.Size || bytes.Length < EntryHeader.Length)
            return false;
        var header = EntryHeader.Read(bytes);
        if (header.Size != entry.Size || header.Position.Value != entry.Position || header.Queue != queue
            || header.HeaderLength < EntryHeader.Length || header.HeaderLength >= entry.Size)
        {
            return false;
        }

        ReadOnlySpan<byte> batch = bytes[header.HeaderLength..];
        return EntryHeader.ComputeCrc(logSeed, bytes[..header.HeaderLength], batch) == header.Crc
            && RecordBatch.TryReadHeader(batch, out RecordBatchHeader batchHeader, out _)
            && batchHeader.TotalSize == batch.Length
            && batchHeader.BaseOffset.Value == entry.FirstOffset
            && RecordBatch.HasValidCrc(batch);
    }
}
