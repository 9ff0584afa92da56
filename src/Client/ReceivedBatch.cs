using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>
/// The wanted messages of one stored batch, read in place: valid until the reader goes to the next one.
/// </summary>
/// <example><code>
/// foreach (RecordView record in batch)
///     Use(record.Body);
/// </code></example>
/// <remarks>
/// Reading it later throws <see cref="ObjectDisposedException"/>; spans that it gave must not be kept either.
/// </remarks>
public readonly struct ReceivedBatch
{
    private readonly MessageCursor _cursor;
    private readonly long _generation;

    internal ReceivedBatch(MessageCursor cursor, long generation)
    {
        _cursor = cursor;
        _generation = generation;
    }

    /// <summary>The topic.</summary>
    public string Topic => Current.Queue.Topic;

    /// <summary>The queue's number in the topic.</summary>
    public int Queue => Current.Queue.Number;

    /// <summary>Offset of the first message that is wanted; not below the offset asked for.</summary>
    public QueueOffset FirstOffset => Current.FirstWanted;

    /// <summary>Offset of the message behind the batch.</summary>
    public QueueOffset NextOffset => Current.BatchEnd;

    /// <summary>When the broker stored the batch.</summary>
    public DateTimeOffset StoredTime => RecordTime.ToInstant(Current.StoredTimeMs);

    /// <summary>
    /// The batch as it is stored, uncompressed; layout: <see cref="RecordBatchLayout"/>. May hold messages that are not
    /// wanted.
    /// </summary>
    public ReadOnlyMemory<byte> Bytes => Current.Batch;

    private MessageCursor Current
    {
        get
        {
            if (_cursor is null || _cursor.Generation != _generation)
                throw new ObjectDisposedException(nameof(ReceivedBatch), "The reader has gone on.");
            return _cursor;
        }
    }

    /// <summary>Goes over the wanted messages: at or behind the offset asked for, with a wanted tag.</summary>
    public Enumerator GetEnumerator() => new(Current);

    internal MessageCursor Place => Current;

    /// <summary>Goes over the wanted messages of a batch.</summary>
    public ref struct Enumerator
    {
        private readonly MessageCursor _cursor;
        private readonly TagFilter _filter;
        private readonly long _firstWanted;
        private readonly long _baseOffset;
        private RecordReader _records;
        private RecordView _current;

        internal Enumerator(MessageCursor cursor)
        {
            _cursor = cursor;
            _filter = cursor.Filter;
            _firstWanted = cursor.FirstWanted.Value;
            _baseOffset = cursor.BaseOffset.Value;
            _records = new RecordReader(cursor.Batch.Span);
        }

        /// <summary>The message that <see cref="MoveNext"/> found.</summary>
        public readonly RecordView Current => _current;

        /// <summary>Goes to the next message; false at the end, and with <see cref="DamagedDataPolicy.Skip"/> where
        /// the rest of the batch cannot be read.</summary>
        /// <exception cref="DamagedDataException">The records are not what the header says.</exception>
        public bool MoveNext()
        {
            while (_records.TryRead(out _current))
            {
                if (_baseOffset + _current.OffsetDelta >= _firstWanted && _filter.Matches(_current))
                    return true;
            }

            if (_records.Error != ErrorCode.None)
                _cursor.OnBroken(_records.Error);
            return false;
        }
    }
}
