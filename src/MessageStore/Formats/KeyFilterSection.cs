using System.Buffers;
using System.Buffers.Binary;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Writes the key filters of a sealed segment into its index: the index as it is, and one more
/// section.</summary>
/// <remarks>Rows (<see cref="KeyFilterRow"/>) sorted by queue id, then the blocks.</remarks>
internal static class KeyFilterSection
{
    /// <summary>Its type.</summary>
    public const ushort Type = 4;

    private const int CopyBytes = 64 << 10;

    /// <summary>Writes the index again, with these filters in the place of those it had; whole or not at all.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="path">The index.</param>
    /// <param name="filters">By queue id.</param>
    /// <exception cref="StoreFormatException">The index is damaged.</exception>
    public static void AddTo(IDisk disk, string path, SortedDictionary<uint, KeyFilter> filters)
    {
        if (SectionFileReader.TryOpen(disk, path, SealedIndexWriter.Magic, out SectionFileReader? index)
            != FileVerdict.Valid)
        {
            throw new StoreFormatException(path, "the sealed index cannot be used.");
        }

        using (index)
        using (var writer = new SectionFileWriter(disk, path))
        {
            foreach (FileSection section in index!.Header.Sections)
            {
                if (section.Type != Type)
                    Copy(index, section, writer);
            }

            Write(writer, filters);
            writer.Complete(index.Header, SealedIndexWriter.Magic);
        }
    }

    private static void Copy(SectionFileReader index, in FileSection section, SectionFileWriter writer)
    {
        // Checked first: the copy gets a checksum of its own, which must not make damage look whole.
        if (!index.Verify(section))
            throw new StoreFormatException(index.Path, $"section {section.Type} does not match its checksum.");
        byte[] bytes = ArrayPool<byte>.Shared.Rent(CopyBytes);
        try
        {
            writer.BeginSection();
            for (long done = 0; done < section.Length;)
            {
                Span<byte> piece = bytes.AsSpan(0, (int)Math.Min(CopyBytes, section.Length - done));
                if (!index.TryRead(section, done, piece))
                    throw new StoreFormatException(index.Path, $"section {section.Type} is cut short.");
                writer.Write(piece);
                done += piece.Length;
            }

            writer.EndSection(section.Type, section.ItemCount);
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }

    private static void Write(SectionFileWriter writer, SortedDictionary<uint, KeyFilter> filters)
    {
        writer.BeginSection();
        long offset = (long)filters.Count * KeyFilterRow.RowSize;
        Span<byte> row = stackalloc byte[KeyFilterRow.RowSize];
        foreach ((uint queue, KeyFilter filter) in filters)
        {
            RowOf(new QueueId(queue), filter, offset).Write(row);
            writer.Write(row);
            offset += filter.IsEmpty ? 0 : filter.BlockCount * (filter.BlockBytes + (long)KeyFilterRow.BlockCrcSize);
        }

        Span<byte> crc = stackalloc byte[KeyFilterRow.BlockCrcSize];
        foreach (KeyFilter filter in filters.Values)
        {
            for (int block = 0; !filter.IsEmpty && block < filter.BlockCount; block++)
            {
                writer.Write(filter.Block(block));
                BinaryPrimitives.WriteUInt32LittleEndian(crc, Crc32C.Compute(filter.Block(block)));
                writer.Write(crc);
            }
        }

        writer.EndSection(Type, filters.Count);
    }

    private static KeyFilterRow RowOf(QueueId queue, KeyFilter filter, long offset) => filter.IsEmpty
        ? new KeyFilterRow(queue, 0, KeyFilter.BitsPerKey, 0, 0)
        : new KeyFilterRow(queue, filter.BlockBytes, KeyFilter.BitsPerKey, filter.BlockCount, offset);
}
