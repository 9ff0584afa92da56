namespace EQueue.MessageStore;

/// <summary>The file <c>replica</c>: the newest whole of two slots.</summary>
/// <remarks>One thread at a time.</remarks>
internal sealed class ReplicaNoteFile
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

    /// <summary>Reads what the directory says, or begins the file durably.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="dataDirectory">Exists.</param>
    /// <param name="first">What a directory without the file says.</param>
    /// <exception cref="StoreFormatException">Neither slot is whole, or they are a later version's or another
    /// store's.</exception>
    public static ReplicaNoteFile Open(IDisk disk, string dataDirectory, ReplicaNote first)
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
