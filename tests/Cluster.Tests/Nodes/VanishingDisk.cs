using EQueue.MessageStore;

namespace EQueue.Cluster.Tests;

/// <summary>This system's files, of which one with a certain ending is not there once when it is looked for.</summary>
internal sealed class VanishingDisk : ForwardingDisk
{
    public VanishingDisk()
        : base(PortableDisk.ForThisSystem())
    {
    }

    /// <summary>Endings still to be missed.</summary>
    public HashSet<string> Missing { get; } = [];

    public override IDiskFile Open(string path, DiskOpen mode)
    {
        lock (Missing)
        {
            if (mode == DiskOpen.ReadOnly && Missing.Remove(Path.GetExtension(path)))
                throw new DiskException(DiskFault.NotFound, path, "open", "as the test wants");
        }

        return base.Open(path, mode);
    }
}
