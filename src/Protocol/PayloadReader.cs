using System.Buffers.Binary;
using System.Text;

namespace EQueue.Protocol;

/// <summary>Reads the body of a frame field by field, never beyond its end.</summary>
/// <remarks>
/// A field that does not fit makes the reader <see cref="Failed"/>; every later read then gives zero or null, so that a
/// codec reads all of its fields first and asks once, with <see cref="IsComplete"/>. Counts are checked against the
/// bytes that are left before anything is allocated.
/// Little-endian; string = u16 size + UTF-8 (0xFFFF = null); bytes = u32 size + bytes (0xFFFFFFFF = null); list = u32
/// count + items.
/// </remarks>
public ref struct PayloadReader
{
    private static readonly UTF8Encoding StrictUtf8 = new(false, throwOnInvalidBytes: true);

    private readonly ReadOnlySpan<byte> _payload;
    private int _position;

    /// <summary>Starts at the first byte of <paramref name="payload"/>.</summary>
    public PayloadReader(ReadOnlySpan<byte> payload) => _payload = payload;

    /// <summary>Whether a field did not fit or was not valid.</summary>
    public bool Failed { get; private set; }

    /// <summary>Bytes read so far.</summary>
    public readonly int Position => _position;

    /// <summary>Bytes not read yet.</summary>
    public readonly int Remaining => _payload.Length - _position;

    /// <summary>Whether every field was read and nothing is left.</summary>
    public readonly bool IsComplete => !Failed && _position == _payload.Length;

    /// <summary>Reads a u8.</summary>
    public byte ReadByte() => TryTake(1, out ReadOnlySpan<byte> field) ? field[0] : (byte)0;

    /// <summary>Reads a u8 that is 0 or 1.</summary>
    public bool ReadBool()
    {
        byte value = ReadByte();
        if (value > 1)
            Fail();
        return value == 1;
    }

    /// <summary>Reads a u16.</summary>
    public ushort ReadUInt16() =>
        TryTake(2, out ReadOnlySpan<byte> field) ? BinaryPrimitives.ReadUInt16LittleEndian(field) : (ushort)0;

    /// <summary>Reads an i16.</summary>
    public short ReadInt16() => (short)ReadUInt16();

    /// <summary>Reads a u32.</summary>
    public uint ReadUInt32() =>
        TryTake(4, out ReadOnlySpan<byte> field) ? BinaryPrimitives.ReadUInt32LittleEndian(field) : 0;

    /// <summary>Reads an i32.</summary>
    public int ReadInt32() => (int)ReadUInt32();

    /// <summary>Reads a u64.</summary>
    public ulong ReadUInt64() =>
        TryTake(8, out ReadOnlySpan<byte> field) ? BinaryPrimitives.ReadUInt64LittleEndian(field) : 0;

    /// <summary>Reads an i64.</summary>
    public long ReadInt64() => (long)ReadUInt64();

    /// <summary>Reads a UUID, 16 bytes, big-endian.</summary>
    public Guid ReadGuid() => TryTake(16, out ReadOnlySpan<byte> field) ? new Guid(field, bigEndian: true) : Guid.Empty;

    /// <summary>Reads an i32 of milliseconds.</summary>
    public TimeSpan ReadMilliseconds() => TimeSpan.FromMilliseconds(ReadInt32());

    /// <summary>Reads a string that may be null.</summary>
    public string? ReadNullableString()
    {
        ushort size = ReadUInt16();
        if (size == ushort.MaxValue || !TryTake(size, out ReadOnlySpan<byte> field))
            return null;
        try
        {
            return StrictUtf8.GetString(field);
        }
        catch (DecoderFallbackException)
        {
            Fail();
            return null;
        }
    }

    /// <summary>Reads a string that must be there; "" after a failure.</summary>
    public string ReadString()
    {
        string? text = ReadNullableString();
        if (text is null)
            Fail();
        return text ?? "";
    }

    /// <summary>Reads bytes that may be null, in place.</summary>
    /// <param name="isNull">Whether the sender wrote null rather than a size.</param>
    public ReadOnlySpan<byte> ReadBytes(out bool isNull)
    {
        uint size = ReadUInt32();
        isNull = size == uint.MaxValue || Failed;
        return !isNull && TryTake(size, out ReadOnlySpan<byte> field) ? field : default;
    }

    /// <summary>Reads bytes of a known size, in place.</summary>
    public ReadOnlySpan<byte> ReadRaw(uint size) => TryTake(size, out ReadOnlySpan<byte> field) ? field : default;

    /// <summary>
    /// Reads the count of a list whose items take at least <paramref name="minItemSize"/> bytes each.
    /// </summary>
    /// <returns>A count that the bytes left can hold; 0 after a failure.</returns>
    public int ReadCount(int minItemSize) => ReadNullableCount(minItemSize, nullable: false) ?? 0;

    /// <summary>As <see cref="ReadCount"/>, with 0xFFFFFFFF read as null.</summary>
    public int? ReadNullableCount(int minItemSize) => ReadNullableCount(minItemSize, nullable: true);

    /// <summary>Reads a list of items that read themselves.</summary>
    /// <param name="minItemSize">The fewest bytes an item can take.</param>
    public T[] ReadList<T>(int minItemSize)
        where T : IPayload<T> =>
        ReadItems<T>(ReadCount(minItemSize));

    /// <summary>As <see cref="ReadList"/>, with the count 0xFFFFFFFF read as null.</summary>
    public T[]? ReadNullableList<T>(int minItemSize)
        where T : IPayload<T> =>
        ReadNullableCount(minItemSize) is { } count ? ReadItems<T>(count) : null;

    /// <summary>Reads a list of strings.</summary>
    public string[] ReadStrings()
    {
        string[] strings = new string[ReadCount(2)];
        for (int i = 0; i < strings.Length; i++)
            strings[i] = ReadString();
        return strings;
    }

    /// <summary>Marks the payload as not valid: a value is outside its range.</summary>
    public void Fail() => Failed = true;

    private T[] ReadItems<T>(int count)
        where T : IPayload<T>
    {
        if (count == 0)
            return [];
        var items = new T[count];
        for (int i = 0; i < items.Length && !Failed; i++)
            items[i] = T.Read(ref this);
        return Failed ? [] : items;
    }

    private int? ReadNullableCount(int minItemSize, bool nullable)
    {
        uint count = ReadUInt32();
        if (nullable && count == uint.MaxValue)
            return null;
        if (!Failed && (ulong)count * (uint)minItemSize > (ulong)Remaining)
            Fail();
        return Failed ? 0 : (int)count;
    }

    private bool TryTake(uint size, out ReadOnlySpan<byte> field)
    {
        if (Failed || size > (uint)Remaining)
        {
            Failed = true;
            field = default;
            return false;
        }

        field = _payload.Slice(_position, (int)size);
        _position += (int)size;
        return true;
    }
}
