using System.Text;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Server.Http;

/// <summary>Reads messages of one queue: single fetches, decoded for people.</summary>
/// <remarks>The CRC of each batch is checked here. What cannot be read is passed over and told beside the
/// others.</remarks>
/// <param name="call">The request.</param>
/// <param name="queue">Which queue.</param>
internal sealed class QueueRead(ApiCall call, QueueRoute queue)
{
    private const int MostPlainBytes = 64 << 20;

    private readonly List<MessageBody> _messages = [];
    private readonly List<UnreadableBody> _unreadable = [];

    public required string Topic { get; init; }

    /// <summary>Only messages with this tag; null: all.</summary>
    public string? Tag { get; init; }

    /// <summary>Whether bytes are always shown as base64.</summary>
    public bool IsBase64 { get; init; }

    public QueueKey Key => new(queue.Log, queue.Id);

    /// <summary>Fetches once.</summary>
    /// <param name="from">The first offset wanted.</param>
    /// <param name="limit">Messages at most.</param>
    /// <param name="maxBytes">Bytes of the log at most; one batch is read even if it is larger.</param>
    /// <exception cref="EQueueException">OffsetOutOfRange, QueueNotReadable.</exception>
    public async Task<MessagePage> ReadAsync(long from, int limit, int maxBytes)
    {
        _messages.Clear();
        _unreadable.Clear();
        using ResponseFrame response = await call.SendAsync(
            Opcode.Fetch, BrokerLink.Encode(RequestOf(from, maxBytes, TimeSpan.Zero)));
        ReadOnlyMemory<byte> rest = response.Payload;
        if (!FetchResponseHeader.TryRead(rest.Span, out FetchResponseHeader head))
            throw BrokerLink.Malformed(Opcode.Fetch);
        rest = rest[FetchResponseHeader.Size..];
        long next = from;
        long start = -1, end = -1;
        for (int i = 0; i < head.QueueCount; i++)
        {
            if (!FetchedQueueHeader.TryRead(rest.Span, out FetchedQueueHeader found))
                throw BrokerLink.Malformed(Opcode.Fetch);
            (start, end) = (found.Start.Value, found.VisibleEnd.Value);
            bool isFirst = _messages.Count == 0 && next == from;
            if (found.Error is not (ErrorCode.None or ErrorCode.DamagedData) && isFirst)
                throw Explain(found, from);
            if (found.Error == ErrorCode.DamagedData && isFirst)
                PassOver(from, Math.Max(found.Next.Value, from + 1), found.Error);
            ReadOnlyMemory<byte> entries = rest.Slice(FetchedQueueHeader.Size, found.EntriesSize);
            long reached = ReadEntries(entries, from, Math.Max(found.Next.Value, from + 1), limit);
            if (found.Error is ErrorCode.None or ErrorCode.DamagedData && _messages.Count < limit)
                next = Math.Max(found.Next.Value, reached);
            else
                next = Math.Max(next, reached);
            rest = rest[(FetchedQueueHeader.Size + found.EntriesSize)..];
        }

        if (start < 0)
            (start, end) = await FindEndsAsync();
        return new MessagePage([.. _messages], next, start, end, [.. _unreadable]);
    }

    /// <summary>Waits until there is a message to read, or no longer than that.</summary>
    /// <param name="from">The first offset wanted.</param>
    /// <param name="wait">How long.</param>
    public async Task WaitAsync(long from, TimeSpan wait)
    {
        using ResponseFrame response = await call.SendAsync(Opcode.Fetch, BrokerLink.Encode(RequestOf(from, 1, wait)));
    }

    /// <summary>The queue's first offset, and the one after its last visible message.</summary>
    public async Task<(long Start, long End)> FindEndsAsync()
    {
        long[] ends = await FindAllAsync(OffsetQuestion.Begin, OffsetQuestion.End);
        return (ends[0], ends[1]);
    }

    /// <summary>The offset that a question asks for.</summary>
    public async Task<long> FindAsync(long question) => (await FindAllAsync(question))[0];

    private async Task<long[]> FindAllAsync(params long[] questions)
    {
        FindOffsetsResponse found = await call.InvokeAsync(
            new FindOffsetsRequest([.. questions.Select(question => new OffsetQuestion(Key, question))]));
        return
        [
            .. found.Answers.Select(static answer => answer.Error == ErrorCode.None
                ? answer.Offset.Value : throw new EQueueException(answer.Error)),
        ];
    }

    private FetchRequest RequestOf(long from, int maxBytes, TimeSpan wait)
    {
        uint mask = Tag is null ? TagBits.Unknown : TagBits.Of(Encoding.UTF8.GetBytes(Tag));
        return new FetchRequest
        {
            MinBytes = wait > TimeSpan.Zero ? 1 : 0,
            MaxBytes = maxBytes,
            MaxWaitMs = (int)wait.TotalMilliseconds,
            Queues = [new FetchQueue(Key, new QueueOffset(from), -1, maxBytes, mask, new QueueOffset(-1))],
        };
    }

    private EQueueException Explain(in FetchedQueueHeader found, long from)
    {
        string where = $"queue {queue.Number} of '{Topic}'";
        return new EQueueException(found.Error, found.Error switch
        {
            ErrorCode.OffsetOutOfRange =>
                $"from is {from}: {where} has offsets {found.Start.Value} to {found.VisibleEnd.Value}.",
            _ => $"{ErrorCodes.Describe(found.Error)}: {where}.",
        });
    }

    /// <param name="entries">Of the answer.</param>
    /// <param name="from">The first offset wanted.</param>
    /// <param name="answerEnd">The offset behind all of them.</param>
    /// <param name="limit">Messages at most.</param>
    /// <returns>The offset behind what was shown or passed over.</returns>
    private long ReadEntries(ReadOnlyMemory<byte> entries, long from, long answerEnd, int limit)
    {
        long reached = from;
        while (!entries.IsEmpty && _messages.Count < limit)
        {
            if (!EntryView.TryRead(entries.Span, out EntryView entry))
                throw BrokerLink.Malformed(Opcode.Fetch);
            if (entry.Kind == EntryView.MessagesKind)
            {
                ReadOnlyMemory<byte> batch = entries[entry.HeaderSize..entry.Size];
                if (!RecordBatch.TryReadHeader(batch.Span, out RecordBatchHeader header, out _)
                    || header.TotalSize != batch.Length)
                {
                    // How many it has is not known: what the answer covers is passed over.
                    return PassOver(reached, answerEnd, ErrorCode.CorruptBatch);
                }

                reached = ReadBatch(batch, header, entry.StoredTimeMs, reached, limit);
            }

            entries = entries[entry.Size..];
        }

        return reached;
    }

    private long ReadBatch(
        ReadOnlyMemory<byte> batch, in RecordBatchHeader header, long storedMs, long from, int limit)
    {
        (long first, long end) = (header.BaseOffset.Value, header.NextOffset.Value);
        ReadOnlyMemory<byte> plain = default;
        ErrorCode error = RecordBatch.HasValidCrc(batch.Span)
            ? RecordBatch.Decompress(batch, MostPlainBytes, out plain)
            : ErrorCode.CorruptBatch;
        long next = Math.Max(first, from);
        if (error != ErrorCode.None)
            return PassOver(next, end, error);
        var records = new RecordReader(plain.Span);
        while (records.TryRead(out RecordView record))
        {
            long offset = first + record.OffsetDelta;
            if (offset < from)
                continue;
            if (Tag is null || (record.HasTag && Encoding.UTF8.GetString(record.Tag) == Tag))
            {
                if (_messages.Count == limit)
                    return offset;
                _messages.Add(MessageText.ToBody(Topic, queue.Number, offset, storedMs, record, IsBase64));
            }

            next = offset + 1;
        }

        return records.Error == ErrorCode.None ? end : PassOver(next, end, records.Error);
    }

    /// <summary>Tells of messages that cannot be read.</summary>
    /// <returns>Where to go on.</returns>
    private long PassOver(long from, long to, ErrorCode error)
    {
        if (to <= from)
            return from;
        _unreadable.Add(new UnreadableBody(queue.Number, from, to, error.ToString(), ErrorCodes.Describe(error)));
        return to;
    }
}
