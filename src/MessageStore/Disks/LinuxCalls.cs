using System.Runtime.InteropServices;

namespace EQueue.MessageStore;

/// <summary>The Linux calls of <see cref="LinuxDisk"/>, with the numbers of the 64-bit ABIs (x64 and arm64 agree on
/// all but O_DIRECTORY).</summary>
internal static partial class LinuxCalls
{
    public const int ReadOnly = 0x0;
    public const int ReadWrite = 0x2;
    public const int Create = 0x40;
    public const int Exclusive = 0x80;
    public const int CloseOnExec = 0x80000;
    public const int LockExclusive = 2;
    public const int LockNonBlocking = 4;

    public const int Eperm = 1;
    public const int Enoent = 2;
    public const int Eintr = 4;
    public const int Enxio = 6;
    public const int Eagain = 11;
    public const int Enomem = 12;
    public const int Eacces = 13;
    public const int Eexist = 17;
    public const int Einval = 22;
    public const int Enfile = 23;
    public const int Emfile = 24;
    public const int Enospc = 28;
    public const int Erofs = 30;
    public const int Enosys = 38;
    public const int Eopnotsupp = 95;
    public const int Edquot = 122;

    [LibraryImport("libc", EntryPoint = "open", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    public static partial int Open(string path, int flags, uint mode);

    [LibraryImport("libc", EntryPoint = "close", SetLastError = true)]
    public static partial int Close(int file);

    [LibraryImport("libc", EntryPoint = "pwrite", SetLastError = true)]
    public static unsafe partial nint Write(int file, byte* bytes, nint count, long offset);

    [LibraryImport("libc", EntryPoint = "pread", SetLastError = true)]
    public static unsafe partial nint Read(int file, byte* bytes, nint count, long offset);

    [LibraryImport("libc", EntryPoint = "fdatasync", SetLastError = true)]
    public static partial int SyncContent(int file);

    [LibraryImport("libc", EntryPoint = "fsync", SetLastError = true)]
    public static partial int Sync(int file);

    [LibraryImport("libc", EntryPoint = "fallocate", SetLastError = true)]
    public static partial int Allocate(int file, int mode, long offset, long length);

    [LibraryImport("libc", EntryPoint = "ftruncate", SetLastError = true)]
    public static partial int Truncate(int file, long length);

    [LibraryImport("libc", EntryPoint = "posix_fadvise")]
    public static partial int Advise(int file, long offset, long length, int advice);

    [LibraryImport("libc", EntryPoint = "flock", SetLastError = true)]
    public static partial int Lock(int file, int operation);

    [LibraryImport("libc", EntryPoint = "lseek", SetLastError = true)]
    public static partial long Seek(int file, long offset, int whence);

    [LibraryImport("libc", EntryPoint = "rename", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    public static partial int Rename(string from, string to);

    [LibraryImport("libc", EntryPoint = "unlink", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    public static partial int Unlink(string path);

    /// <summary>The failure of the last call on this thread, as the store tells them apart.</summary>
    public static DiskException Fault(string operation, string path)
    {
        int error = Marshal.GetLastPInvokeError();
        return new DiskException(FaultOf(error), path, operation, $"{Marshal.GetPInvokeErrorMessage(error)} [{error}]");
    }

    /// <summary>The failure of a sync: what it has done is not known, so no try follows it.</summary>
    public static DiskException SyncFault(string operation, string path)
    {
        DiskException fault = Fault(operation, path);
        return fault.Fault == DiskFault.Shortage
            ? new DiskException(DiskFault.Io, path, operation, fault.Message)
            : fault;
    }

    private static DiskFault FaultOf(int error) => error switch
    {
        Enospc or Edquot => DiskFault.Full,
        Emfile or Enfile or Enomem => DiskFault.Shortage,
        Erofs => DiskFault.ReadOnly,
        Eperm or Eacces => DiskFault.Denied,
        Enoent => DiskFault.NotFound,
        Eexist => DiskFault.Exists,
        Eagain => DiskFault.Locked,
        _ => DiskFault.Io,
    };
}
