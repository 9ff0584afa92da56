using System.Runtime.InteropServices;

namespace EQueue.MessageStore;

/// <summary>One file descriptor. The owner disposes it when no call is running on it.</summary>
internal sealed class LinuxDiskFile(int descriptor, string path) : IDiskFile
{
    private const int SeekEnd = 2;
    private const int SeekData = 3;
    private const int SeekHole = 4;
    private int _descriptor = descriptor;

    public long Length
    {
        get
        {
            // The descriptor's own position is not used: every read and write names its offset.
            long length = LinuxCalls.Seek(Descriptor, 0, SeekEnd);
            return length < 0 ? throw LinuxCalls.Fault("lseek", path) : length;
        }
    }

    /// <inheritdoc/>
    public bool IsUnlinked =>
        Volatile.Read(ref _descriptor) is >= 0 and var descriptor
        && new FileInfo($"/proc/self/fd/{descriptor}").LinkTarget is { } name
        && name.EndsWith(" (deleted)", StringComparison.Ordinal);

    private int Descriptor => _descriptor >= 0 ? _descriptor : throw new ObjectDisposedException(path);

    public unsafe void Write(ReadOnlySpan<byte> bytes, long fileOffset)
    {
        fixed (byte* start = bytes)
        {
            nint done = 0;
            while (done < bytes.Length)
            {
                nint count = LinuxCalls.Write(Descriptor, start + done, bytes.Length - done, fileOffset + done);
                if (count > 0)
                {
                    done += count;
                }
                else if (count == 0 || Marshal.GetLastPInvokeError() != LinuxCalls.Eintr)
                {
                    throw LinuxCalls.Fault("pwrite", path);
                }
            }
        }
    }

    public unsafe int Read(Span<byte> buffer, long fileOffset)
    {
        fixed (byte* start = buffer)
        {
            nint done = 0;
            while (done < buffer.Length)
            {
                nint count = LinuxCalls.Read(Descriptor, start + done, buffer.Length - done, fileOffset + done);
                if (count > 0)
                {
                    done += count;
                }
                else if (count == 0)
                {
                    break;
                }
                else if (Marshal.GetLastPInvokeError() != LinuxCalls.Eintr)
                {
                    throw LinuxCalls.Fault("pread", path);
                }
            }
            return (int)done;
        }
    }

    public (long Begin, long End) FindData(long fileOffset)
    {
        long length = Length;
        long begin = LinuxCalls.Seek(Descriptor, fileOffset, SeekData);
        if (begin < 0)
        {
            // Other errors: this file system cannot tell.
            return Marshal.GetLastPInvokeError() == LinuxCalls.Enxio ? (length, length) : (fileOffset, length);
        }

        long end = LinuxCalls.Seek(Descriptor, begin, SeekHole);
        return (begin, end < 0 ? length : end);
    }

    public void Sync()
    {
        while (LinuxCalls.SyncContent(Descriptor) != 0)
        {
            if (Marshal.GetLastPInvokeError() != LinuxCalls.Eintr)
                throw LinuxCalls.SyncFault("fdatasync", path);
        }
    }

    public void Preallocate(long fileOffset, long length)
    {
        while (LinuxCalls.Allocate(Descriptor, 0, fileOffset, length) != 0)
        {
            int error = Marshal.GetLastPInvokeError();
            if (error is LinuxCalls.Eopnotsupp or LinuxCalls.Enosys or LinuxCalls.Einval)
            {
                // The file system cannot reserve: a sparse file of that length, and a full disk shows at the write.
                Truncate(Math.Max(Length, fileOffset + length));
                return;
            }
            if (error != LinuxCalls.Eintr)
                throw LinuxCalls.Fault("fallocate", path);
        }
    }

    public void Truncate(long length)
    {
        while (LinuxCalls.Truncate(Descriptor, length) != 0)
        {
            if (Marshal.GetLastPInvokeError() != LinuxCalls.Eintr)
                throw LinuxCalls.Fault("ftruncate", path);
        }
    }

    public void Advise(long fileOffset, long length, DiskAdvice advice)
    {
        int posix = advice switch
        {
            DiskAdvice.Sequential => 2,
            DiskAdvice.WillNeed => 3,
            DiskAdvice.DontNeed => 4,
            _ => 0,
        };
        _ = LinuxCalls.Advise(Descriptor, fileOffset, length, posix);
    }

    public void Dispose()
    {
        int closing = Interlocked.Exchange(ref _descriptor, -1);
        if (closing >= 0)
            _ = LinuxCalls.Close(closing);
    }
}
