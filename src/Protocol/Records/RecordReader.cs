namespace EQueue.Protocol;

/// <summary>Reads the records of a batch one after another, in place.</summary>
/// <example><code>
/// var reader = new RecordReader(batch);
/// while (reader.TryRead(out RecordView record))
///     Use(record.Key, record.Body);
/// if (reader.Error != ErrorCode.None) ...
/// </code></example>
/// <remarks>To keep records beyond the call, store <see cref="RecordRange"/> from a <see
/// cref="RecordCursor"/>.</remarks>
public ref struct RecordReader
{
    private readonly ReadOnlySpan<byte> _batch;
    private RecordCursor _cursor;

    /// <summary>Begins at the first record. Does not check the CRC; a bad header shows as <see
    /// cref="Error"/>.</summary>
    /// <param name="batch">The batch, uncompressed; bytes behind it are ignored.</param>
    public RecordReader(ReadOnlySpan<byte> batch)
    {
        _batch = batch;
        _cursor = new RecordCursor(batch);
    }

    /// <summary>Why reading ended: None at the end, InvalidBatch, or UnsupportedCodec for a compressed batch.</summary>
    public readonly ErrorCode Error => _cursor.Error;

    /// <summary>Reads the next record; false at the end and at an error.</summary>
    public bool TryRead(out RecordView record) => RecordView.TryRead(_batch, ref _cursor, out record);
}
