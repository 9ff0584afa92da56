namespace EQueue.MessageStore;

/// <summary>A disk whose files are read no faster than a <see cref="ScrubPace"/> allows.</summary>
internal sealed class PacedDisk(IDisk disk, ScrubPace pace) : ForwardingDisk(disk)
{
    public override IDiskFile Open(string path, DiskOpen mode) => Open(path, letsGo: false);

    /// <summary>Opens a file for reading.</summary>
    /// <param name="path">It must exist.</param>
    /// <param name="letsGo">Whether the system's page cache lets go of what was read.</param>
    public IDiskFile Open(string path, bool letsGo) =>
        new PacedFile(base.Open(path, DiskOpen.ReadOnly), pace, letsGo);
}
