using System.Buffers;
using System.Buffers.Binary;
using System.Text;

namespace EQueue.Protocol;

/// <summary>Writes the body of a frame field by field; the mirror of <see cref="PayloadReader"/>.</summary>
public readonly ref struct PayloadWriter
{
    private readonly IBufferWriter<byte> _output;

    /// <summary>Appends to <paramref name="output"/>.</summary>
    public PayloadWriter(IBufferWriter<byte> output) => _output = output;

    /// <summary>Writes a u8.</summary>
    public void WriteByte(byte value)
    {
        _output.GetSpan(1)[0] = value;
        _output.Advance(1);
    }

    /// <summary>Writes a u8 of 0 or 1.</summary>
    public void WriteBool(bool value) => WriteByte(value ? (byte)1 : (byte)0);

    /// <summary>Writes a u16.</summary>
    public void WriteUInt16(ushort value)
    {
        BinaryPrimitives.WriteUInt16LittleEndian(_output.GetSpan(2), value);
        _output.Advance(2);
    }

    /// <summary>Writes an i16.</summary>
    public void WriteInt16(short value) => WriteUInt16((ushort)value);

    /// <summary>Writes a u32.</summary>
    public void WriteUInt32(uint value)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(_output.GetSpan(4), value);
        _output.Advance(4);
    }

    /// <summary>Writes an i32.</summary>
    public void WriteInt32(int value) => WriteUInt32((uint)value);

    /// <summary>Writes a u64.</summary>
    public void WriteUInt64(ulong value)
    {
        BinaryPrimitives.WriteUInt64LittleEndian(_output.GetSpan(8), value);
        _output.Advance(8);
    }

    /// <summary>Writes an i64.</summary>
    public void WriteInt64(long value) => WriteUInt64((ulong)value);

    /// <summary>Writes a UUID, 16 bytes, big-endian.</summary>
    public void WriteGuid(Guid value)
    {
        value.TryWriteBytes(_output.GetSpan(16), bigEndian: true, out _);
        _output.Advance(16);
    }

    /// <summary>Writes a duration as an i32 of milliseconds, cut to its range.</summary>
    public void WriteMilliseconds(TimeSpan value) =>
        WriteInt32((int)Math.Clamp(value.TotalMilliseconds, int.MinValue, int.MaxValue));

    /// <summary>Writes a string or null; at most 65,534 bytes of UTF-8.</summary>
    /// <exception cref="ArgumentException">The string is longer.</exception>
    public void WriteString(string? value)
    {
        if (value is null)
        {
            WriteUInt16(ushort.MaxValue);
            return;
        }

        int size = Encoding.UTF8.GetByteCount(value);
        if (size >= ushort.MaxValue)
        {
            throw new ArgumentException(
                $"A string of {size} bytes is longer than {ushort.MaxValue - 1}.", nameof(value));
        }

        WriteUInt16((ushort)size);
        Encoding.UTF8.GetBytes(value, _output.GetSpan(size));
        _output.Advance(size);
    }

    /// <summary>Writes a size and bytes.</summary>
    public void WriteBytes(ReadOnlySpan<byte> value)
    {
        WriteUInt32((uint)value.Length);
        WriteRaw(value);
    }

    /// <summary>Writes the null of <see cref="WriteBytes"/> or of a list.</summary>
    public void WriteNull() => WriteUInt32(uint.MaxValue);

    /// <summary>Writes bytes without a size.</summary>
    public void WriteRaw(ReadOnlySpan<byte> value) => _output.Write(value);

    /// <summary>Writes the count of a list.</summary>
    public void WriteCount(int count) => WriteUInt32((uint)count);

    /// <summary>Writes a list of items that write themselves.</summary>
    public void WriteList<T>(IReadOnlyList<T> items)
        where T : IPayload<T>
    {
        WriteCount(items.Count);
        for (int i = 0; i < items.Count; i++)
            items[i].Write(this);
    }

    /// <summary>Writes a list of strings.</summary>
    public void WriteStrings(IReadOnlyList<string> strings)
    {
        WriteCount(strings.Count);
        for (int i = 0; i < strings.Count; i++)
            WriteString(strings[i]);
    }

    /// <summary>As <see cref="WriteList"/>, with null written as its own count.</summary>
    public void WriteNullableList<T>(IReadOnlyList<T>? items)
        where T : IPayload<T>
    {
        if (items is null)
            WriteNull();
        else
            WriteList(items);
    }
}
