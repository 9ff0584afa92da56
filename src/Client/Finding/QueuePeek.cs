using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>Is shown a record of a queue, valid during the call.</summary>
/// <returns>Whether to go on.</returns>
internal delegate bool RecordVisitor(QueueOffset offset, long storedTimeMs, RecordView record);

/// <summary>Looks into one queue at its broker: single requests, no session that lasts.</summary>
internal sealed class QueuePeek(BrokerLink link, ClientOptions options, string topic, int number, QueueKey key)
{
    public int Number => number;

    /// <summary>The queue's first offset and its end.</summary>
    /// <exception cref="EQueueException">UnknownQueue.</exception>
    public async ValueTask<(long Start, long End)> FindEndsAsync(CancellationToken cancellationToken)
    {
        long[] offsets = await FindOffsetsAsync([OffsetQuestion.Begin, OffsetQuestion.End], cancellationToken)
            .ConfigureAwait(false);
        return (offsets[0], offsets[1]);
    }

    /// <summary>The range of offsets stored in a time.</summary>
    public async ValueTask<(long From, long To)> FindRangeAsync(
        DateTimeOffset? since, DateTimeOffset? until, CancellationToken cancellationToken)
    {
        long from = since is { } first ? Math.Max(0, first.ToUnixTimeMilliseconds()) : OffsetQuestion.Begin;
        long to = until is { } last ? Math.Max(0, last.ToUnixTimeMilliseconds()) : OffsetQuestion.End;
        long[] offsets = await FindOffsetsAsync([from, to], cancellationToken).ConfigureAwait(false);
        return (offsets[0], offsets[1]);
    }

    /// <summary>Asks for offsets of messages with a key, a bounded part of the queue.</summary>
    public ValueTask<FindByKeyResponse> FindByKeyAsync(FindByKeyRequest request, CancellationToken cancellationToken) =>
        link.InvokeAsync(request with { Queue = key }, options.RequestTimeout, cancellationToken);

    /// <summary>Shows the records of the entries that hold an offset and follow it.</summary>
    /// <param name="from">The first offset that is shown.</param>
    /// <param name="maxBytes">Of the entries; one larger is read all the same.</param>
    /// <param name="visit">Called for each record until it says no.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>How it went; offsets before the next one were shown, or are gone, or are not readable.</returns>
    public async ValueTask<PeekResult> ReadAsync(
        long from, int maxBytes, RecordVisitor visit, CancellationToken cancellationToken)
    {
        int wait = (int)Math.Min(options.RequestTimeout.TotalMilliseconds, 60_000);
        var request = new FetchRequest
        {
            MinBytes = 1,
            MaxBytes = maxBytes,
            MaxWaitMs = wait,
            Queues = [new FetchQueue(key, new QueueOffset(from), -1, maxBytes, uint.MaxValue, new QueueOffset(-1))],
        };
        using ResponseFrame response = await link.SendAsync(
            Opcode.Fetch, request, options.RequestTimeout + options.RequestTimeout, cancellationToken)
            .ConfigureAwait(false);
        ReadOnlyMemory<byte> payload = response.Payload;
        if (!FetchResponseHeader.TryRead(payload.Span, out FetchResponseHeader head))
            throw Faults.Malformed(Opcode.Fetch, link.Address.ToString());
        if (head.QueueCount == 0)
            throw new EQueueException(ErrorCode.Timeout, $"{topic}/{number} gave nothing at {from} within {wait} ms.");
        if (!FetchedQueueHeader.TryRead(payload.Span[FetchResponseHeader.Size..], out FetchedQueueHeader queue))
            throw Faults.Malformed(Opcode.Fetch, link.Address.ToString());
        long next = Math.Max(queue.Next.Value, from + 1);
        return queue.Error switch
        {
            ErrorCode.None => Show(
                payload.Slice(FetchResponseHeader.Size + FetchedQueueHeader.Size, queue.EntriesSize),
                from,
                next,
                visit),
            ErrorCode.DamagedData => new PeekResult(next, next - from, queue.Error),
            ErrorCode.OffsetOutOfRange => new PeekResult(
                from < queue.Start.Value ? queue.Start.Value : long.MaxValue, 0, queue.Error),
            _ => throw new EQueueException(
                queue.Error, $"{ErrorCodes.Describe(queue.Error)}: {topic}/{number} at {from}."),
        };
    }

    /// <summary>A copy of a record.</summary>
    public DetachedMessage Detach(QueueOffset offset, long storedTimeMs, RecordView record) =>
        DetachedMessage.Copy(topic, number, offset, storedTimeMs, record);

    private PeekResult Show(ReadOnlyMemory<byte> entries, long from, long next, RecordVisitor visit)
    {
        var result = new PeekResult(from, 0, ErrorCode.None);
        bool goesOn = true;
        while (goesOn && EntryView.TryRead(entries.Span, out EntryView entry))
        {
            ReadOnlyMemory<byte> batch = entries[entry.HeaderSize..entry.Size];
            entries = entries[entry.Size..];
            if (entry.Kind != EntryView.MessagesKind)
                continue;
            if (!RecordBatch.TryReadHeader(batch.Span, out RecordBatchHeader header, out _)
                || header.TotalSize != batch.Length)
            {
                // How many it has is not known: what the answer covers is passed over.
                next = Math.Max(next, result.Next + 1);
                return new PeekResult(next, result.UnreadableCount + next - result.Next, ErrorCode.CorruptBatch);
            }

            (long first, long end) = (header.BaseOffset.Value, header.NextOffset.Value);
            long reached = Math.Max(first, from);
            ReadOnlyMemory<byte> plain = default;
            ErrorCode error = RecordBatch.HasValidCrc(batch.Span)
                ? RecordBatch.Decompress(batch, options.MaxFrameBytes, out plain)
                : ErrorCode.CorruptBatch;
            if (error == ErrorCode.None)
                goesOn = TryShow(plain, first, entry.StoredTimeMs, visit, ref reached, out error);
            result = error == ErrorCode.None
                ? result with { Next = end }
                : new PeekResult(end, result.UnreadableCount + end - reached, error);
        }

        return result.Next > from
            ? result
            : throw new EQueueException(ErrorCode.CorruptBatch, $"{topic}/{number} gave no entry at {from}.");
    }

    private static bool TryShow(
        ReadOnlyMemory<byte> batch,
        long baseOffset,
        long storedTimeMs,
        RecordVisitor visit,
        ref long reached,
        out ErrorCode error)
    {
        var records = new RecordReader(batch.Span);
        error = ErrorCode.None;
        while (records.TryRead(out RecordView record))
        {
            long offset = baseOffset + record.OffsetDelta;
            if (offset < reached)
                continue;
            reached = offset + 1;
            if (!visit(new QueueOffset(offset), storedTimeMs, record))
                return false;
        }

        error = records.Error;
        return true;
    }

    private async ValueTask<long[]> FindOffsetsAsync(long[] times, CancellationToken cancellationToken)
    {
        var request = new FindOffsetsRequest([.. times.Select(time => new OffsetQuestion(key, time))]);
        FindOffsetsResponse response = await link
            .InvokeAsync(request, options.RequestTimeout, cancellationToken).ConfigureAwait(false);
        if (response.Answers.Count != times.Length)
            throw Faults.Malformed(Opcode.FindOffsets, link.Address.ToString());
        foreach (OffsetAnswer answer in response.Answers)
        {
            if (answer.Error != ErrorCode.None)
                throw new EQueueException(answer.Error, $"{ErrorCodes.Describe(answer.Error)}: {topic}/{number}.");
        }

        return [.. response.Answers.Select(static answer => answer.Offset.Value)];
    }
}

/// <summary>How a look into a queue went.</summary>
/// <param name="Next">Where to look on.</param>
/// <param name="UnreadableCount">Offsets before it that are damaged or in a batch that cannot be decompressed.</param>
/// <param name="Error">Why they, the last ones, are not readable; OffsetOutOfRange: there is no such offset.</param>
internal readonly record struct PeekResult(long Next, long UnreadableCount, ErrorCode Error);
