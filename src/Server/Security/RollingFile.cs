using Microsoft.Win32.SafeHandles;

namespace EQueue.Server.Security;

/// <summary>A file of lines that becomes PATH.1 when it is full, that one PATH.2, and so on; the oldest goes.</summary>
/// <remarks>Used by one thread, but for <see cref="Open"/>, which another may call before the first line. A write that
/// failed in part is written over by the next one, so a line stands there once and whole.</remarks>
internal sealed class RollingFile(string path, int files, long rollBytes) : IDisposable
{
    private readonly Lock _opening = new();
    private FileStream? _stream;

    /// <summary>Where the next line begins; negative: at the end of what is there.</summary>
    private long _at = -1;

    /// <summary>What still fits into the file.</summary>
    public long RoomBytes => rollBytes - Math.Max(_at, 0);

    private SafeFileHandle Handle => _stream!.SafeFileHandle;

    /// <summary>Opens the file, or makes it, for its owner alone.</summary>
    public void Open()
    {
        lock (_opening)
        {
            if (_stream is not null)
                return;
            var options = new FileStreamOptions
            {
                Mode = FileMode.OpenOrCreate,
                Access = FileAccess.ReadWrite,
                Share = FileShare.ReadWrite | FileShare.Delete,
                BufferSize = 0,
            };
            if (!OperatingSystem.IsWindows())
                options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
            _stream = new FileStream(path, options);
        }
    }

    /// <summary>Writes whole lines behind those that are there.</summary>
    public void Write(ReadOnlySpan<byte> lines)
    {
        if (_stream is not null && !File.Exists(path))
            Close();
        Open();
        long end = RandomAccess.GetLength(Handle);

        // The file was cut short from outside: nothing is to be left out before the next line.
        if (_at < 0 || _at > end)
            _at = FindPlace(end);
        if (_at > 0 && _at + lines.Length > rollBytes)
        {
            Roll();
            Open();
            _at = 0;
        }

        RandomAccess.Write(Handle, lines, _at);
        _at += lines.Length;
    }

    /// <summary>Has what was written on the disk.</summary>
    public void Flush() => _stream?.Flush(flushToDisk: true);

    public void Dispose() => Close();

    private void Close()
    {
        _stream?.Dispose();
        _stream = null;
        _at = -1;
    }

    /// <summary>Behind the last line; one that a dead process left in part is ended first.</summary>
    private long FindPlace(long end)
    {
        if (end == 0)
            return 0;
        Span<byte> last = stackalloc byte[1];
        if (RandomAccess.Read(Handle, last, end - 1) == 1 && last[0] == (byte)'\n')
            return end;
        RandomAccess.Write(Handle, "\n"u8, end);
        return end + 1;
    }

    private void Roll()
    {
        Flush();
        Close();

        // More than are to be kept are there when fewer are wanted than before.
        for (int i = files; File.Exists($"{path}.{i}"); i++)
            File.Delete($"{path}.{i}");
        for (int i = files - 1; i > 1; i--)
        {
            if (File.Exists($"{path}.{i - 1}"))
                File.Move($"{path}.{i - 1}", $"{path}.{i}", overwrite: true);
        }

        File.Move(path, $"{path}.1", overwrite: true);
    }
}
