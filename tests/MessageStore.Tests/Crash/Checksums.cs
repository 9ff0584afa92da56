using System.Buffers.Binary;
using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

/// <summary>Makes the checksums of a changed file right again, so that what reads it comes to what they
/// protect.</summary>
internal static class Checksums
{
    /// <summary>Renews all checksums of a file of the store; lengths and counts are taken as they stand where they lie
    /// inside the file.</summary>
    /// <param name="path">Tells the kind of file.</param>
    /// <param name="bytes">Of the file.</param>
    /// <param name="logSeed">From <see cref="EntryHeader.SeedOf"/>.</param>
    /// <param name="entries">Where the entries of the segment begin and end in the file.</param>
    public static void Renew(string path, byte[] bytes, uint logSeed, IEnumerable<(int Start, int Size)> entries)
    {
        switch (Path.GetExtension(path))
        {
            case LogFiles.SegmentSuffix:
                RenewAt(bytes, 120, 0, 120);
                foreach ((int start, int size) in entries)
                    RenewEntry(bytes, start, size, logSeed);
                break;
            case LogFiles.IndexSuffix:
                RenewDirectory(bytes);
                RenewSections(bytes);
                break;
            case LogFiles.SnapshotSuffix:
                RenewSections(bytes);
                break;
            default:
                RenewAt(bytes, bytes.Length - 4, 0, bytes.Length - 4);
                break;
        }
    }

    private static void RenewEntry(byte[] bytes, int start, int size, uint logSeed)
    {
        if (start + size > bytes.Length || size < EntryHeader.Length)
            return;
        Span<byte> entry = bytes.AsSpan(start, size);
        int headerLength = Math.Clamp((int)entry[33], EntryHeader.Length, size);
        Span<byte> batch = entry[headerLength..];
        if (batch.Length >= RecordBatchLayout.HeaderSize)
        {
            uint batchCrc = Crc32C.Compute(batch[RecordBatchLayout.Attributes..]);
            BinaryPrimitives.WriteUInt32BigEndian(batch[RecordBatchLayout.Crc..], batchCrc);
        }

        uint crc = EntryHeader.ComputeCrc(logSeed, entry[..headerLength], batch);
        BinaryPrimitives.WriteUInt32LittleEndian(entry[4..], crc);
    }

    private static void RenewSections(byte[] bytes)
    {
        if (bytes.Length < SectionFileHeader.Length)
            return;
        foreach ((int row, long offset, long length, _) in SectionsOf(bytes))
            RenewAt(bytes, row + 4, offset, length);
        int used = BinaryPrimitives.ReadUInt16LittleEndian(bytes.AsSpan(10));
        RenewAt(bytes, used - 4, 0, used - 4);
    }

    private static void RenewDirectory(byte[] bytes)
    {
        if (bytes.Length < SectionFileHeader.Length)
            return;
        (int Row, long Offset, long Length, int Type)[] sections = [.. SectionsOf(bytes)];
        long runs = Array.Find(sections, section => section.Type == SealedIndexWriter.RunsSection).Offset;
        (_, long directory, long size, _) =
            Array.Find(sections, section => section.Type == SealedIndexWriter.DirectorySection);
        for (long row = directory; row <= directory + size - SealedQueue.RowSize && IsInside(bytes, row, 64); row += 64)
        {
            long table = runs + BinaryPrimitives.ReadInt64LittleEndian(bytes.AsSpan((int)row + 40));
            int blocks = BinaryPrimitives.ReadInt32LittleEndian(bytes.AsSpan((int)row + 48));
            for (int i = 0; i < blocks && IsInside(bytes, table + (40L * i), 40); i++)
                RenewBlock(bytes, (int)(table + (40L * i)), table + (40L * blocks));
            RenewAt(bytes, row + 60, row, 60);
        }
    }

    private static void RenewBlock(byte[] bytes, int row, long tableEnd)
    {
        long block = tableEnd + BinaryPrimitives.ReadUInt32LittleEndian(bytes.AsSpan(row + 24));
        RenewAt(bytes, row + 32, block, BinaryPrimitives.ReadUInt16LittleEndian(bytes.AsSpan(row + 28)));
        RenewAt(bytes, row + 36, row, 36);
    }

    private static IEnumerable<(int Row, long Offset, long Length, int Type)> SectionsOf(byte[] bytes)
    {
        int count = Math.Min((int)BinaryPrimitives.ReadUInt16LittleEndian(bytes.AsSpan(20)), SectionFileHeader.MaxSections);
        for (int row = 88; row < 88 + (count * 32); row += 32)
        {
            yield return (
                row,
                BinaryPrimitives.ReadInt64LittleEndian(bytes.AsSpan(row + 8)),
                BinaryPrimitives.ReadInt64LittleEndian(bytes.AsSpan(row + 16)),
                BinaryPrimitives.ReadUInt16LittleEndian(bytes.AsSpan(row)));
        }
    }

    private static void RenewAt(byte[] bytes, long at, long start, long length)
    {
        if (IsInside(bytes, start, length) && IsInside(bytes, at, 4))
        {
            uint crc = Crc32C.Compute(bytes.AsSpan((int)start, (int)length));
            BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan((int)at), crc);
        }
    }

    private static bool IsInside(byte[] bytes, long start, long length) =>
        start >= 0 && length >= 0 && length <= bytes.Length && start <= bytes.Length - length;
}
