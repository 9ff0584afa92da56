using System.Buffers;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>An open sealed index or snapshot: its checked header and checked access to its sections.</summary>
/// <remarks>
/// Reads are positioned and keep no state: any thread. The owner disposes it when no reader is left. What the device
/// cannot read counts as damaged.
/// </remarks>
internal sealed class SectionFileReader : IDisposable
{
    private const int VerifySize = 64 * 1024;

    private readonly IDiskFile _file;

    private SectionFileReader(string path, IDiskFile file, SectionFileHeader header)
    {
        Path = path;
        _file = file;
        Header = header;
    }

    /// <summary>The file's place.</summary>
    public string Path { get; }

    /// <summary>What the file covers and holds.</summary>
    public SectionFileHeader Header { get; }

    /// <summary>Opens a file and checks its header, not its sections.</summary>
    public static FileVerdict TryOpen(
        IDisk disk, string path, ReadOnlySpan<byte> magic, out SectionFileReader? reader)
    {
        reader = null;
        if (!disk.Exists(path))
            return FileVerdict.Empty;

        IDiskFile file = disk.Open(path, DiskOpen.ReadOnly);
        byte[] bytes = ArrayPool<byte>.Shared.Rent(SectionFileHeader.Length);
        try
        {
            int size = file.ReadOrNothing(bytes.AsSpan(0, SectionFileHeader.Length), 0);
            if (size == 0 && file.Length > 0)
                return FileVerdict.Damaged;
            FileVerdict verdict =
                SectionFileHeader.Read(bytes.AsSpan(0, size), magic, file.Length, out SectionFileHeader? header);
            if (verdict == FileVerdict.Valid)
                reader = new SectionFileReader(path, file, header!);
            return verdict;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(bytes);
            if (reader is null)
                file.Dispose();
        }
    }

    /// <summary>The first section of a type.</summary>
    public bool TryFind(ushort type, out FileSection section)
    {
        foreach (FileSection candidate in Header.Sections)
        {
            if (candidate.Type != type)
                continue;
            section = candidate;
            return true;
        }

        section = default;
        return false;
    }

    /// <summary>Whether every byte of the section is as it was written.</summary>
    public bool Verify(in FileSection section)
    {
        byte[] bytes = ArrayPool<byte>.Shared.Rent(VerifySize);
        try
        {
            uint crc = 0;
            for (long done = 0; done < section.Length;)
            {
                int size = (int)Math.Min(bytes.Length, section.Length - done);
                if (_file.ReadOrNothing(bytes.AsSpan(0, size), section.FileOffset + done) != size)
                    return false;
                crc = Crc32C.Append(crc, bytes.AsSpan(0, size));
                done += size;
            }

            return crc == section.Crc;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }

    /// <summary>Whether every section is as it was written.</summary>
    public bool VerifyAll()
    {
        foreach (FileSection section in Header.Sections)
        {
            if (!Verify(section))
                return false;
        }

        return true;
    }

    /// <summary>Reads bytes of a section; false when they are not all inside it, or cannot be read.</summary>
    public bool TryRead(in FileSection section, long offset, Span<byte> destination) =>
        offset >= 0 && offset <= section.Length && destination.Length <= section.Length - offset
        && _file.ReadOrNothing(destination, section.FileOffset + offset) == destination.Length;

    /// <inheritdoc/>
    public void Dispose() => _file.Dispose();
}
