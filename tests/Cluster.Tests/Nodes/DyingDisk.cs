using EQueue.MessageStore;

namespace EQueue.Cluster.Tests;

/// <summary>This system's files until so many changes of folders were made: then the process is as good as
/// killed.</summary>
internal sealed class DyingDisk(int changes) : ForwardingDisk(PortableDisk.ForThisSystem())
{
    private int _left = changes;

    public override IDiskFile Open(string path, DiskOpen mode)
    {
        if (mode == DiskOpen.CreateNew)
            Change();
        return base.Open(path, mode);
    }

    public override void CreateDirectory(string path)
    {
        Change();
        base.CreateDirectory(path);
    }

    public override void Delete(string path)
    {
        Change();
        base.Delete(path);
    }

    public override void Rename(string from, string to)
    {
        Change();
        base.Rename(from, to);
    }

    public override void SyncDirectory(string directory)
    {
        Change();
        base.SyncDirectory(directory);
    }

    private void Change()
    {
        if (_left-- <= 0)
            throw new KilledException();
    }
}

/// <summary>The process was killed.</summary>
internal sealed class KilledException : Exception;
