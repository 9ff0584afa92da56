using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Reads the state records of a batch in place. Layout: <see cref="StateBatchEncoder"/>.</summary>
internal ref struct StateBatchReader
{
    private RecordReader _records;
    private bool _hasBadKey;

    /// <summary>Begins at the first record of a batch whose CRC was checked.</summary>
    public StateBatchReader(ReadOnlySpan<byte> batch) => _records = new RecordReader(batch);

    /// <summary>Whether reading ended because a record cannot be a state record.</summary>
    public readonly bool IsMalformed => _hasBadKey || _records.Error != ErrorCode.None;

    /// <summary>Reads the next record; false at the end and at a malformed one.</summary>
    public bool TryRead(out StateRecord record)
    {
        record = default;
        if (_hasBadKey || !_records.TryRead(out RecordView view))
            return false;
        if (view.Key.IsEmpty)
        {
            _hasBadKey = true;
            return false;
        }

        record = new StateRecord(view.Key[0], view.Key[1..], view.Body, isDeleted: !view.HasBody);
        return true;
    }
}
