using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>One name-value pair of a record, read in place.</summary>
public readonly ref struct RecordProperty
{
    internal RecordProperty(ReadOnlySpan<byte> name, OptionalBytes value)
    {
        Name = name;
        Value = value;
    }

    /// <summary>The name in UTF-8.</summary>
    public ReadOnlySpan<byte> Name { get; }

    /// <summary>The value; may be absent.</summary>
    public OptionalBytes Value { get; }
}

/// <summary>Walks the properties of a record that was read without an error; works with <c>foreach</c>.</summary>
public ref struct RecordPropertyReader
{
    private readonly ReadOnlySpan<byte> _batch;
    private int _position;
    private int _remaining;

    internal RecordPropertyReader(ReadOnlySpan<byte> batch, int position, int count)
    {
        _batch = batch;
        _position = position;
        _remaining = count;
    }

    /// <summary>The pair that <see cref="MoveNext"/> found.</summary>
    public RecordProperty Current { get; private set; }

    /// <summary>Itself.</summary>
    public readonly RecordPropertyReader GetEnumerator() => this;

    /// <summary>Goes to the next pair; false at the end.</summary>
    public bool MoveNext()
    {
        while (_remaining > 0)
        {
            _remaining--;
            ReadOnlySpan<byte> name = ReadBytes().Value;
            OptionalBytes value = ReadBytes();
            if (!name.SequenceEqual(RecordContent.TagHeaderNameUtf8))
            {
                Current = new RecordProperty(name, value);
                return true;
            }
        }

        return false;
    }

    private OptionalBytes ReadBytes()
    {
        if (!VarInt.TryRead(_batch, ref _position, out int length))
            throw new EQueueException(ErrorCode.InvalidBatch, $"No length at byte {_position} of the batch.");
        if (length < 0)
            return default;
        ReadOnlySpan<byte> value = _batch.Slice(_position, length);
        _position += length;
        return value;
    }
}
