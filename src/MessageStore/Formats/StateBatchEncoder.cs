using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Encodes state records into one record batch: key = kind (1 byte) + key, body = value, absent when
/// deleted.</summary>
/// <remarks>Reusable, one thread at a time. Owns the buffer it gives out.</remarks>
internal sealed class StateBatchEncoder
{
    private const int KindSize = 1;

    private readonly RecordBatchBuilder _builder = new();
    private byte[] _batch = new byte[4096];
    private byte[] _key = new byte[256];

    /// <summary>Encodes the records, at least one, in their order.</summary>
    /// <param name="entries">What changes.</param>
    /// <param name="timeMs">Create time of the records, Unix milliseconds.</param>
    /// <returns>One batch, valid until the next call; offset and epoch are stamped by the log.</returns>
    public Memory<byte> Encode(ReadOnlySpan<StateEntry> entries, long timeMs)
    {
        if (entries.IsEmpty)
            throw new ArgumentException("A state batch needs at least one record.", nameof(entries));

        EnsureRoom(entries, timeMs);
        _builder.Reset(_batch, timeMs);
        foreach (StateEntry entry in entries)
        {
            var record = new RecordContent { Key = KeyOf(entry), Body = ValueOf(entry) };
            if (!_builder.TryAppend(record, timeMs))
                throw new InvalidOperationException("The room counted for a state record was too small.");
        }

        int size = _builder.Complete(ProducerSession.None, baseSequence: -1);
        return _batch.AsMemory(0, size);
    }

    private void EnsureRoom(ReadOnlySpan<StateEntry> entries, long timeMs)
    {
        long size = RecordBatchLayout.HeaderSize;
        for (int i = 0; i < entries.Length; i++)
        {
            var record = new RecordContent { Key = KeyOf(entries[i]), Body = ValueOf(entries[i]) };
            size += RecordBatchBuilder.SizeOf(record, i, timestampDeltaMs: 0);
        }

        if (size > Array.MaxLength)
        {
            throw new ArgumentException(
                $"State records of {size} bytes are more than one batch can hold.", nameof(entries));
        }

        if (size > _batch.Length)
        {
            _batch = GC.AllocateUninitializedArray<byte>(
                (int)Math.Min(Math.Max(size, _batch.Length * 2L), Array.MaxLength));
        }
    }

    private ReadOnlySpan<byte> KeyOf(in StateEntry entry)
    {
        int size = KindSize + entry.Key.Length;
        if (size > _key.Length)
            _key = new byte[size];
        _key[0] = entry.Kind;
        entry.Key.Span.CopyTo(_key.AsSpan(KindSize));
        return _key.AsSpan(0, size);
    }

    private static OptionalBytes ValueOf(in StateEntry entry) =>
        entry.Value is { } value ? new OptionalBytes(value.Span) : default;
}
