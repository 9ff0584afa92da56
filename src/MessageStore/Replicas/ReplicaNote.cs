using System.Buffers.Binary;
using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>What a replica's directory says of itself, in the file <c>replica</c> beside <c>store</c>: two slots of
/// 4,096 bytes, written in turns (little-endian).</summary>
/// <remarks>
/// <code>
///  0 magic          8 B  "EQUEUE\0R"
///  8 format version u16  1
/// 10 used length    u16  60 + record length
/// 12 compatible     u32  bits that an older reader may ignore
/// 16 incompatible   u32  bits that an older reader must refuse
/// 20 flags          u32  bit 0: the directory is being copied and is no log yet
/// 24 number         u64  rises with each writing: the slot with the higher one counts
/// 32 durable        u64  below it this disk has the log for certain: fdatasync returned
/// 40 store id       16 B
/// 56 record         what the rules of replication keep there
///    crc            u32  CRC-32C of everything before
/// </code>
/// A slot that a crash tore is not whole; the other one is, and is one writing older.
/// </remarks>
/// <param name="StoreId">The store that the directory belongs to.</param>
/// <param name="Durable">Below it this disk has the log for certain.</param>
/// <param name="IsCopying">Whether the directory is being copied and is no log yet.</param>
/// <param name="Record">What the rules of replication keep there; at most <see cref="MostRecordBytes"/>.</param>
public sealed record ReplicaNote(Guid StoreId, LogPosition Durable, bool IsCopying, ReadOnlyMemory<byte> Record)
{
    /// <summary>The bytes that the rules may keep.</summary>
    public const int MostRecordBytes = SlotSize - Fixed - sizeof(uint);

    /// <summary>The file's name.</summary>
    internal const string FileName = "replica";

    /// <summary>Bytes of a slot: one page of every disk, so that a torn writing spoils one slot alone.</summary>
    internal const int SlotSize = 4096;

    private const int Fixed = 56;
    private const ushort CurrentVersion = 1;
    private const uint Copying = 1;

    private static ReadOnlySpan<byte> Magic => "EQUEUE\0R"u8;

    /// <summary>The bytes of a slot.</summary>
    internal byte[] ToSlot(long number)
    {
        if (Record.Length > MostRecordBytes)
            throw new InvalidOperationException($"{Record.Length} bytes of a record; at most {MostRecordBytes} fit.");
        byte[] bytes = new byte[SlotSize];
        Span<byte> span = bytes;
        int used = Fixed + Record.Length + sizeof(uint);
        Magic.CopyTo(span);
        BinaryPrimitives.WriteUInt16LittleEndian(span[8..], CurrentVersion);
        BinaryPrimitives.WriteUInt16LittleEndian(span[10..], (ushort)used);
        BinaryPrimitives.WriteUInt32LittleEndian(span[20..], IsCopying ? Copying : 0);
        BinaryPrimitives.WriteInt64LittleEndian(span[24..], number);
        BinaryPrimitives.WriteInt64LittleEndian(span[32..], Durable.Value);
        StoreId.TryWriteBytes(span[40..], bigEndian: true, out _);
        Record.Span.CopyTo(span[Fixed..]);
        int covered = used - sizeof(uint);
        BinaryPrimitives.WriteUInt32LittleEndian(span[covered..], Crc32C.Compute(span[..covered]));
        return bytes;
    }

    /// <summary>Reads a slot.</summary>
    /// <param name="slot">Its bytes, or what there is of them.</param>
    /// <param name="number">The number of its writing.</param>
    /// <param name="note">What it says.</param>
    internal static FileVerdict Read(ReadOnlySpan<byte> slot, out long number, out ReplicaNote? note)
    {
        (number, note) = (0, null);
        if (!slot.ContainsAnyExcept((byte)0))
            return FileVerdict.Empty;
        if (slot.Length < Fixed + sizeof(uint) || !slot.StartsWith(Magic))
            return FileVerdict.Damaged;
        int used = BinaryPrimitives.ReadUInt16LittleEndian(slot[10..]);
        if (used < Fixed + sizeof(uint) || used > slot.Length)
            return FileVerdict.Damaged;
        ReadOnlySpan<byte> covered = slot[..(used - sizeof(uint))];
        if (BinaryPrimitives.ReadUInt32LittleEndian(slot[covered.Length..]) != Crc32C.Compute(covered))
            return FileVerdict.Damaged;
        uint flags = BinaryPrimitives.ReadUInt32LittleEndian(slot[20..]);
        if (BinaryPrimitives.ReadUInt16LittleEndian(slot[8..]) != CurrentVersion
            || BinaryPrimitives.ReadUInt32LittleEndian(slot[16..]) != 0)
        {
            return FileVerdict.Refused;
        }

        number = BinaryPrimitives.ReadInt64LittleEndian(slot[24..]);
        note = new ReplicaNote(
            new Guid(slot.Slice(40, 16), bigEndian: true),
            new LogPosition(BinaryPrimitives.ReadInt64LittleEndian(slot[32..])),
            (flags & Copying) != 0,
            covered[Fixed..].ToArray());
        return FileVerdict.Valid;
    }
}
