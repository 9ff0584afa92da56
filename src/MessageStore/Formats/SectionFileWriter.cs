using System.Diagnostics;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Writes a sealed index or a snapshot so that it is there whole or not at all.</summary>
/// <remarks>
/// Owns the temporary file <c>path.tmp</c> until <see cref="Complete"/> has synced it, renamed it and synced the
/// directory; disposed before that, it removes it. One thread.
/// </remarks>
internal sealed class SectionFileWriter : IDisposable
{
    /// <summary>What a file is called until it is whole.</summary>
    public const string TemporarySuffix = ".tmp";

    private const int BufferSize = 64 * 1024;

    private readonly IDisk _disk;
    private readonly string _path;
    private readonly IDiskFile _file;
    private readonly byte[] _buffer = new byte[BufferSize];
    private readonly List<FileSection> _sections = [];
    private int _buffered;
    private long _flushedTo = SectionFileHeader.Length;
    private long _sectionStart;
    private uint _sectionCrc;
    private bool _isCompleted;

    /// <summary>Begins the temporary file; one left over by a crash is replaced.</summary>
    public SectionFileWriter(IDisk disk, string path)
    {
        _disk = disk;
        _path = path;
        if (disk.Exists(path + TemporarySuffix))
            disk.Delete(path + TemporarySuffix);
        _file = disk.Open(path + TemporarySuffix, DiskOpen.CreateNew);
    }

    /// <summary>Bytes written to the current section.</summary>
    public long SectionLength => _flushedTo + _buffered - _sectionStart;

    /// <summary>Bytes of the file so far.</summary>
    public long FileLength => _flushedTo + _buffered;

    /// <summary>Starts a section at the end of the file.</summary>
    public void BeginSection()
    {
        _sectionStart = _flushedTo + _buffered;
        _sectionCrc = 0;
    }

    /// <summary>Adds bytes to the current section.</summary>
    public void Write(ReadOnlySpan<byte> bytes)
    {
        _sectionCrc = Crc32C.Append(_sectionCrc, bytes);
        while (!bytes.IsEmpty)
        {
            int size = Math.Min(bytes.Length, _buffer.Length - _buffered);
            bytes[..size].CopyTo(_buffer.AsSpan(_buffered));
            _buffered += size;
            bytes = bytes[size..];
            if (_buffered == _buffer.Length)
                Flush();
        }
    }

    /// <summary>Ends the current section.</summary>
    public void EndSection(ushort type, long itemCount)
    {
        Debug.Assert(_sections.Count < SectionFileHeader.MaxSections, "the table has room");
        _sections.Add(new FileSection(type, Flags: 0, _sectionCrc, _sectionStart, SectionLength, itemCount));
    }

    /// <summary>Writes the header and makes the file durable under its name.</summary>
    public void Complete(SectionFileHeader header, ReadOnlySpan<byte> magic)
    {
        Flush();
        Span<byte> bytes = _buffer.AsSpan(0, SectionFileHeader.Length);
        (header with { Sections = _sections }).Write(bytes, magic);
        _file.Write(bytes, 0);
        _file.Sync();
        _file.Dispose();
        _disk.Rename(_path + TemporarySuffix, _path);
        _disk.SyncDirectory(Path.GetDirectoryName(_path)!);
        _isCompleted = true;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        if (_isCompleted)
            return;

        _isCompleted = true;
        _file.Dispose();
        try
        {
            if (_disk.Exists(_path + TemporarySuffix))
                _disk.Delete(_path + TemporarySuffix);
        }
        catch (IOException)
        {
            // The disk failed already and that failure is on its way to the caller; recovery removes left-overs.
        }
    }

    private void Flush()
    {
        if (_buffered == 0)
            return;

        _file.Write(_buffer.AsSpan(0, _buffered), _flushedTo);
        _flushedTo += _buffered;
        _buffered = 0;
    }
}
