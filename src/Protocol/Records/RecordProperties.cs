using System.Text;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Name-value pairs of a message, kept as the record headers they become. Names may repeat, values may be
/// null.</summary>
/// <remarks>Not thread-safe. <see cref="Clear"/> makes it ready for the next message without giving memory
/// back.</remarks>
public sealed class RecordProperties
{
    private byte[] _bytes = [];
    private int _size;

    /// <summary>Pairs added since the last <see cref="Clear"/>.</summary>
    public int Count { get; private set; }

    /// <summary>The pairs one after another: name length, name, value length (-1 for null), value; lengths as
    /// varints.</summary>
    internal ReadOnlySpan<byte> Encoded => _bytes.AsSpan(0, _size);

    /// <summary>Adds a text value, stored as UTF-8; null stays null.</summary>
    /// <exception cref="ArgumentException">The name is empty, reserved, has control characters or is not valid
    /// UTF-16.</exception>
    public void Add(string name, string? value)
    {
        if (value is null)
            Add(name, default(OptionalBytes));
        else
            Add(name, Encoding.UTF8.GetBytes(value).AsSpan());
    }

    /// <summary>Adds bytes; an absent value becomes null.</summary>
    /// <exception cref="ArgumentException">The name is empty, reserved, has control characters or is not valid
    /// UTF-16.</exception>
    public void Add(string name, OptionalBytes value)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        if (name == RecordContent.TagHeaderName)
            throw new ArgumentException($"The property name {name} is reserved: set the tag instead.", nameof(name));
        if (!NameRules.IsText(name))
            throw new ArgumentException("A property name has no control characters.", nameof(name));

        int nameSize = Encoding.UTF8.GetByteCount(name);
        EnsureRoom((2 * VarInt.MaxSize32) + nameSize + value.Value.Length);
        int at = VarInt.Write(_bytes, _size, nameSize);
        at += Encoding.UTF8.GetBytes(name, _bytes.AsSpan(at));
        at = VarInt.Write(_bytes, at, value.CountedLength);
        value.Value.CopyTo(_bytes.AsSpan(at));
        _size = at + value.Value.Length;
        Count++;
    }

    /// <summary>Adds a pair of a message that was read, byte for byte: any name, a null value too.</summary>
    public void Add(RecordProperty property) => AddBytes(property.Name, property.Value);

    /// <summary>Adds a pair byte for byte: the name need not be UTF-8, an absent value becomes null.</summary>
    /// <exception cref="ArgumentException">The name is reserved.</exception>
    public void Add(ReadOnlySpan<byte> name, OptionalBytes value)
    {
        if (name.SequenceEqual(RecordContent.TagHeaderNameUtf8))
        {
            throw new ArgumentException(
                $"The property name {RecordContent.TagHeaderName} is reserved: set the tag instead.", nameof(name));
        }

        AddBytes(name, value);
    }

    /// <summary>Adds all pairs of another list, in order.</summary>
    public void Add(RecordProperties pairs)
    {
        ArgumentNullException.ThrowIfNull(pairs);
        EnsureRoom(pairs._size);
        pairs.Encoded.CopyTo(_bytes.AsSpan(_size));
        _size += pairs._size;
        Count += pairs.Count;
    }

    /// <summary>The first value of a name.</summary>
    /// <param name="name">In UTF-8.</param>
    /// <param name="value">Valid until a pair is added or all are forgotten; may be absent.</param>
    /// <returns>False when there is no such name.</returns>
    public bool TryGet(ReadOnlySpan<byte> name, out OptionalBytes value)
    {
        foreach (RecordProperty property in this)
        {
            if (property.Name.SequenceEqual(name))
            {
                value = property.Value;
                return true;
            }
        }

        value = default;
        return false;
    }

    /// <summary>Walks the pairs in order; valid until a pair is added or all are forgotten.</summary>
    public RecordPropertyReader GetEnumerator() => new(Encoded, 0, Count);

    /// <summary>The same pairs in memory of their own.</summary>
    public RecordProperties Copy() => new() { _bytes = Encoded.ToArray(), _size = _size, Count = Count };

    /// <summary>Forgets all pairs.</summary>
    public void Clear()
    {
        _size = 0;
        Count = 0;
    }

    private void AddBytes(ReadOnlySpan<byte> name, OptionalBytes value)
    {
        EnsureRoom((2 * VarInt.MaxSize32) + name.Length + value.Value.Length);
        int at = VarInt.Write(_bytes, _size, name.Length);
        name.CopyTo(_bytes.AsSpan(at));
        at = VarInt.Write(_bytes, at + name.Length, value.CountedLength);
        value.Value.CopyTo(_bytes.AsSpan(at));
        _size = at + value.Value.Length;
        Count++;
    }

    private void EnsureRoom(int size)
    {
        int needed = checked(_size + size);
        if (needed > _bytes.Length)
            Array.Resize(ref _bytes, Math.Max(needed, (int)Math.Min(Array.MaxLength, 2L * _bytes.Length)));
    }
}
