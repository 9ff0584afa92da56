namespace EQueue.MessageStore;

/// <summary>The file <c>replica</c>: the newest whole of two slots. <see cref="ReplicaFiles"/> keeps it for a replica
/// that follows; one that leads writes it itself.</summary>
/// <remarks>One thread at a time.</remarks>
public sealed class ReplicaNoteFile
{
    private readonly IDisk _disk;
    private readonly string _path;
    private long _number;

    private ReplicaNoteFile(IDisk disk, string path, ReplicaNote note, long number)
    {
        (_disk, _path, _number) = (disk, path, number);
        Note = note;
    }

    /// <summary>What was written last.</summary>
    public ReplicaNote Note { get; private set; }

    /// <summary>Opens the file of a replica that leads.</summary>
    /// <param name="options">Where its directory is.</param>
    /// <param name="storeId">The store's.</param>
    /// <exception cref="StoreFormatException">As a replica's opening.</exception>
    /// <exception cref="DiskException">The disk failed.</exception>
    public static ReplicaNoteFile Open(ReplicaFilesOptions options, Guid storeId) => Open(
        options.Disk ?? PortableDisk.ForThisSystem(),
        Path.GetFullPath(options.DataDirectory),
        new ReplicaNote(storeId, default, IsCopying: false, default));

    /// <summary>Reads what the directory says, or begins the file durably.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="dataDirectory">Exists.</param>
    /// <param name="first">What a directory without the file says.</param>
    /// <exception cref="StoreFormatException">Neither slot is whole, or they are a later version's or another
    /// store's.</exception>
    internal static ReplicaNoteFile Open(IDisk disk, string dataDirectory, ReplicaNote first)
    {
        string path = Path.Combine(dataDirectory, ReplicaNote.FileName);
        if (!disk.Exists(path))
        {
            WholeFile.Write(disk, path, [.. first.ToSlot(1), .. new byte[ReplicaNote.SlotSize]]);
            return new ReplicaNoteFile(disk, path, first, 1);
        }

        byte[] bytes = WholeFile.Read(disk, path, 2 * ReplicaNote.SlotSize);
        (long newest, ReplicaNote? found) = (0, null);
        for (int slot = 0; slot < 2; slot++)
        {
            ReadOnlySpan<byte> rest = bytes.AsSpan(Math.Min(slot * ReplicaNote.SlotSize, bytes.Length));
            FileVerdict verdict = ReplicaNote.Read(
                rest[..Math.Min(rest.Length, ReplicaNote.SlotSize)], out long number, out ReplicaNote? note);
            if (verdict == FileVerdict.Refused)
                throw LaterVersion.Refuse(disk, path);
            if (verdict == FileVerdict.Valid && number > newest)
                (newest, found) = (number, note);
        }

        if (found is null)
            throw new StoreFormatException(path, "neither of its two slots is whole.");
        if (found.StoreId != first.StoreId)
        {
            throw new StoreFormatException(
                path, $"it belongs to store {found.StoreId}, the directory to {first.StoreId}.");
        }

        return new ReplicaNoteFile(disk, path, found, newest);
    }

    /// <summary>Writes a note durably into the older slot.</summary>
    public void Write(ReplicaNote note)
    {
        long number = _number + 1;
        using (IDiskFile file = _disk.Open(_path, DiskOpen.ReadWrite))
        {
            // The first number is in the first slot.
            file.Write(note.ToSlot(number), (number + 1) % 2 * ReplicaNote.SlotSize);
            file.Sync();
        }

        _number = number;
        Note = note;
    }
}
