using System.Runtime.InteropServices;

namespace EQueue.MessageStore;

/// <summary>Files by the Linux calls themselves: positioned writes, fdatasync, fallocate, fsync of folders,
/// flock.</summary>
internal sealed class LinuxDisk : IDisk
{
    public IDiskFile Open(string path, DiskOpen mode)
    {
        int flags = LinuxCalls.CloseOnExec | mode switch
        {
            DiskOpen.CreateNew => LinuxCalls.ReadWrite | LinuxCalls.Create | LinuxCalls.Exclusive,
            DiskOpen.ReadWrite => LinuxCalls.ReadWrite,
            _ => LinuxCalls.ReadOnly,
        };
        return new LinuxDiskFile(OpenDescriptor(path, flags), path);
    }

    public bool Exists(string path) => Path.Exists(path);

    public IReadOnlyList<DiskEntry> List(string directory) => PortableDisk.ListFiles(directory);

    public void CreateDirectory(string path) => PortableDisk.MakeDirectory(path);

    public void Delete(string path)
    {
        if (LinuxCalls.Unlink(path) != 0 && Marshal.GetLastPInvokeError() != LinuxCalls.Enoent)
            throw LinuxCalls.Fault("unlink", path);
    }

    public void Rename(string from, string to)
    {
        if (LinuxCalls.Rename(from, to) != 0)
            throw LinuxCalls.Fault("rename", from);
    }

    public void SyncDirectory(string directory)
    {
        int descriptor = OpenDescriptor(directory, LinuxCalls.ReadOnly | LinuxCalls.CloseOnExec);
        try
        {
            int result;
            do
            {
                result = LinuxCalls.Sync(descriptor);
            }
            while (result != 0 && Marshal.GetLastPInvokeError() == LinuxCalls.Eintr);
            // File systems without a sync of folders (some network and FUSE ones) answer EINVAL: nothing more can be
            // had.
            if (result != 0 && Marshal.GetLastPInvokeError() != LinuxCalls.Einval)
                throw LinuxCalls.SyncFault("fsync", directory);
        }
        finally
        {
            _ = LinuxCalls.Close(descriptor);
        }
    }

    public long FreeBytes(string directory) => PortableDisk.FreeBytesOf(directory);

    public long CapacityBytes(string directory) => PortableDisk.CapacityBytesOf(directory);

    public IDisposable Lock(string path)
    {
        int descriptor = OpenDescriptor(path, LinuxCalls.ReadWrite | LinuxCalls.Create | LinuxCalls.CloseOnExec);
        if (LinuxCalls.Lock(descriptor, LinuxCalls.LockExclusive | LinuxCalls.LockNonBlocking) != 0)
        {
            DiskException fault = LinuxCalls.Fault("flock", path);
            _ = LinuxCalls.Close(descriptor);
            throw fault;
        }
        return new LinuxDiskFile(descriptor, path);
    }

    private static int OpenDescriptor(string path, int flags)
    {
        int descriptor;
        do
        {
            descriptor = LinuxCalls.Open(path, flags, 0b110_100_000);
        }
        while (descriptor < 0 && Marshal.GetLastPInvokeError() == LinuxCalls.Eintr);
        return descriptor < 0 ? throw LinuxCalls.Fault("open", path) : descriptor;
    }
}
