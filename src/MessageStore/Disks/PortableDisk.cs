using Microsoft.Win32.SafeHandles;

namespace EQueue.MessageStore;

/// <summary>Files by the BCL, for Windows and macOS. Folders cannot be synced there: renames are as durable as the
/// system makes them.</summary>
internal sealed class PortableDisk : IDisk
{
    /// <summary>The free bytes of a volume without a size: some FUSE file systems do not tell theirs. A full one shows
    /// at the write.</summary>
    private const long Unknown = 1L << 60;

    private const UnixFileMode OwnFolder = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
        | UnixFileMode.GroupRead | UnixFileMode.GroupExecute;

    /// <summary>The disk that fits the system this process runs on.</summary>
    public static IDisk ForThisSystem() =>
        OperatingSystem.IsLinux() && Environment.Is64BitProcess ? new LinuxDisk() : new PortableDisk();

    public IDiskFile Open(string path, DiskOpen mode) => Guard(path, "open", () =>
    {
        FileMode fileMode = mode == DiskOpen.CreateNew ? FileMode.CreateNew : FileMode.Open;
        FileAccess access = mode == DiskOpen.ReadOnly ? FileAccess.Read : FileAccess.ReadWrite;
        FileShare share = FileShare.ReadWrite | FileShare.Delete;
        return (IDiskFile)new PortableDiskFile(File.OpenHandle(path, fileMode, access, share), path);
    });

    public bool Exists(string path) => Path.Exists(path);

    public IReadOnlyList<DiskEntry> List(string directory) => ListFiles(directory);

    public void CreateDirectory(string path) => MakeDirectory(path);

    public void Delete(string path) => Guard(path, "delete", () =>
    {
        if (File.Exists(path))
            File.Delete(path);
        return true;
    });

    public void Rename(string from, string to) => Guard(from, "rename", () =>
    {
        File.Move(from, to, overwrite: true);
        return true;
    });

    public void SyncDirectory(string directory)
    {
        // Windows journals folder changes itself and offers no call; the BCL has none for macOS.
    }

    public long FreeBytes(string directory) => FreeBytesOf(directory);

    public long CapacityBytes(string directory) => CapacityBytesOf(directory);

    public IDisposable Lock(string path)
    {
        try
        {
            return File.OpenHandle(path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
        }
        catch (UnauthorizedAccessException exception)
        {
            throw new DiskException(DiskFault.Denied, path, "lock", exception.Message, exception);
        }
        catch (IOException exception)
        {
            DiskFault fault = FaultOf(exception);
            fault = fault == DiskFault.Io ? DiskFault.Locked : fault;
            throw new DiskException(fault, path, "lock", exception.Message, exception);
        }
    }

    internal static IReadOnlyList<DiskEntry> ListFiles(string directory) => Guard(directory, "list", () =>
    {
        var entries = new List<DiskEntry>();
        var folder = new DirectoryInfo(directory);
        foreach (FileInfo file in folder.Exists ? folder.EnumerateFiles() : [])
        {
            try
            {
                entries.Add(new DiskEntry(file.Name, file.Length));
            }
            catch (FileNotFoundException)
            {
                // Removed or renamed since the folder was listed.
            }
        }
        return entries;
    });

    /// <summary>Makes a folder, and those above it, into which other users of the machine do not see: its group may, as
    /// far as the umask lets it. One that is there stays as it is.</summary>
    internal static void MakeDirectory(string path) => Guard(path, "mkdir", () =>
    {
        if (OperatingSystem.IsWindows())
            return Directory.CreateDirectory(path);
        // The call gives the mode to the last one alone.
        if (Path.GetDirectoryName(path) is { Length: > 0 } above && !Directory.Exists(above))
            MakeDirectory(above);
        return Directory.CreateDirectory(path, OwnFolder);
    });

    internal static long FreeBytesOf(string directory) => Guard(directory, "statvfs", () =>
    {
        var volume = new DriveInfo(directory);
        return volume.TotalSize == 0 ? Unknown : volume.AvailableFreeSpace;
    });

    internal static long CapacityBytesOf(string directory) => Guard(directory, "statvfs", () =>
        new DriveInfo(directory).TotalSize is > 0 and var size ? size : Unknown);

    internal static T Guard<T>(string path, string operation, Func<T> action)
    {
        try
        {
            return action();
        }
        catch (UnauthorizedAccessException exception)
        {
            throw new DiskException(DiskFault.Denied, path, operation, exception.Message, exception);
        }
        catch (IOException exception) when (exception is not DiskException)
        {
            throw new DiskException(FaultOf(exception), path, operation, exception.Message, exception);
        }
    }

    private static DiskFault FaultOf(IOException exception)
    {
        const int WindowsManyFiles = 4, WindowsNoMemory = 8, WindowsOutOfMemory = 14, WindowsNoResources = 1450;
        const int WindowsExists = 80, WindowsAlreadyExists = 183, WindowsFull = 112, WindowsHandleFull = 39;
        if (exception is FileNotFoundException or DirectoryNotFoundException)
            return DiskFault.NotFound;
        int code = exception.HResult & 0xFFFF;
        if (OperatingSystem.IsWindows())
        {
            return code switch
            {
                WindowsFull or WindowsHandleFull => DiskFault.Full,
                WindowsManyFiles or WindowsNoMemory or WindowsOutOfMemory or WindowsNoResources => DiskFault.Shortage,
                WindowsExists or WindowsAlreadyExists => DiskFault.Exists,
                _ => DiskFault.Io,
            };
        }
        return code switch
        {
            LinuxCalls.Enospc or LinuxCalls.Edquot or 69 => DiskFault.Full, // 69: EDQUOT of macOS
            LinuxCalls.Emfile or LinuxCalls.Enfile or LinuxCalls.Enomem => DiskFault.Shortage,
            LinuxCalls.Eexist => DiskFault.Exists,
            LinuxCalls.Erofs => DiskFault.ReadOnly,
            _ => DiskFault.Io,
        };
    }

    private sealed class PortableDiskFile(SafeFileHandle handle, string path) : IDiskFile
    {
        public long Length => Guard(path, "length", () => RandomAccess.GetLength(handle));

        public void Write(ReadOnlySpan<byte> bytes, long fileOffset)
        {
            try
            {
                RandomAccess.Write(handle, bytes, fileOffset);
            }
            catch (IOException exception)
            {
                throw new DiskException(FaultOf(exception), path, "write", exception.Message, exception);
            }
        }

        public int Read(Span<byte> buffer, long fileOffset)
        {
            try
            {
                int done = 0;
                while (done < buffer.Length)
                {
                    int count = RandomAccess.Read(handle, buffer[done..], fileOffset + done);
                    if (count == 0)
                        break;
                    done += count;
                }
                return done;
            }
            catch (IOException exception)
            {
                throw new DiskException(FaultOf(exception), path, "read", exception.Message, exception);
            }
        }

        public void Sync()
        {
            try
            {
                RandomAccess.FlushToDisk(handle);
            }
            catch (IOException exception)
            {
                // What a failed sync has done is not known: it is no shortage that passes.
                DiskFault fault = FaultOf(exception);
                fault = fault == DiskFault.Shortage ? DiskFault.Io : fault;
                throw new DiskException(fault, path, "flush", exception.Message, exception);
            }
        }

        public void Preallocate(long fileOffset, long length) => Truncate(Math.Max(Length, fileOffset + length));

        public void Truncate(long length) => Guard(path, "truncate", () =>
        {
            RandomAccess.SetLength(handle, length);
            return true;
        });

        public void Advise(long fileOffset, long length, DiskAdvice advice)
        {
            // The BCL has no such hint.
        }

        public void Dispose() => handle.Dispose();
    }
}
