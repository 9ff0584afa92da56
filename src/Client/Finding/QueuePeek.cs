using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>Is shown a record of a queue, valid during the call.</summary>
/// <returns>Whether to go on; when not, the look ends before this record.</returns>
internal delegate bool RecordVisitor(QueueOffset offset, long storedTimeMs, RecordView record);

/// <summary>Looks into one queue at its broker: single requests, no session that lasts.</summary>
/// <remarks>Thread-safe. It checks the CRC of each batch; what cannot be read is passed over and told of.</remarks>
/// <param name="link">To the broker of the queue.</param>
/// <param name="options">The client's.</param>
/// <param name="topic">The topic's name, for messages.</param>
/// <param name="number">The queue's number in the topic.</param>
/// <param name="key">The queue.</param>
internal sealed class QueuePeek(BrokerLink link, ClientOptions options, string topic, int number, QueueKey key)
{
    public int Number => number;

    /// <summary>The most bytes that a compressed batch may have when it is decompressed.</summary>
    public int MostPlainBytes { get; init; } = options.MaxFrameBytes;

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

    /// <summary>The offset that one question asks for.</summary>
    /// <exception cref="EQueueException">UnknownQueue.</exception>
    public async ValueTask<long> FindOffsetAsync(long question, CancellationToken cancellationToken) =>
        (await FindOffsetsAsync([question], cancellationToken).ConfigureAwait(false))[0];

    /// <summary>Asks for offsets of messages with a key, a bounded part of the queue.</summary>
    public ValueTask<FindByKeyResponse> FindByKeyAsync(FindByKeyRequest request, CancellationToken cancellationToken) =>
        link.InvokeAsync(request with { Queue = key }, options.RequestTimeout, cancellationToken);

    /// <summary>Shows the records of the entries that hold an offset and follow it.</summary>
    /// <param name="from">The first offset that is shown.</param>
    /// <param name="maxBytes">Of the entries; one larger is read all the same.</param>
    /// <param name="visit">Called for each record until it says no.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>How it went; offsets before the next one were shown, or are gone, or are not readable.</returns>
    /// <exception cref="EQueueException">Timeout: the queue gave nothing; QueueNotReadable, CorruptBatch.</exception>
    public async ValueTask<PeekResult> ReadAsync(
        long from, int maxBytes, RecordVisitor visit, CancellationToken cancellationToken)
    {
        var wait = TimeSpan.FromMilliseconds(Math.Min(options.RequestTimeout.TotalMilliseconds, 60_000));
        PeekResult result = await LookAsync(new PeekRequest(from, maxBytes) { Wait = wait }, visit, cancellationToken)
            .ConfigureAwait(false)
            ?? throw new EQueueException(
                ErrorCode.Timeout, $"{topic}/{number} gave nothing at {from} within {wait.TotalMilliseconds:0} ms.");
        if (result.Error == ErrorCode.OffsetOutOfRange)
            return result with { Next = from < result.Start ? result.Start : long.MaxValue };
        return result.Next > from || result.IsStopped
            ? result
            : throw new EQueueException(ErrorCode.CorruptBatch, $"{topic}/{number} gave no entry at {from}.");
    }

    /// <summary>Fetches once, and shows the records of what came.</summary>
    /// <param name="request">What is wanted.</param>
    /// <param name="visit">Called for each record until it says no.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>How it went; null = the queue gave nothing.</returns>
    /// <exception cref="EQueueException">QueueNotReadable, UnknownQueue.</exception>
    public async ValueTask<PeekResult?> LookAsync(
        PeekRequest request, RecordVisitor visit, CancellationToken cancellationToken)
    {
        var fetch = new FetchRequest
        {
            MinBytes = request.Wait > TimeSpan.Zero ? 1 : 0,
            MaxBytes = request.MaxBytes,
            MaxWaitMs = (int)request.Wait.TotalMilliseconds,
            Queues =
            [
                new FetchQueue(
                    key, new QueueOffset(request.From), -1, request.MaxBytes, request.TagMask, new QueueOffset(-1)),
            ],
        };
        using ResponseFrame response = await link.SendAsync(
            Opcode.Fetch, fetch, options.RequestTimeout + request.Wait, cancellationToken).ConfigureAwait(false);
        ReadOnlyMemory<byte> payload = response.Payload;
        if (!FetchResponseHeader.TryRead(payload.Span, out FetchResponseHeader head))
            throw Faults.Malformed(Opcode.Fetch, link.Address.ToString());
        if (head.QueueCount == 0)
            return null;
        if (!FetchedQueueHeader.TryRead(payload.Span[FetchResponseHeader.Size..], out FetchedQueueHeader queue))
            throw Faults.Malformed(Opcode.Fetch, link.Address.ToString());
        var look = new PeekLook(request.From, Math.Max(queue.Next.Value, request.From + 1), MostPlainBytes, visit);
        if (queue.Error == ErrorCode.None)
        {
            look.Show(payload.Slice(FetchResponseHeader.Size + FetchedQueueHeader.Size, queue.EntriesSize));
        }
        else if (queue.Error == ErrorCode.DamagedData)
        {
            look.PassOver(queue.Error);
        }
        else if (queue.Error != ErrorCode.OffsetOutOfRange)
        {
            throw new EQueueException(
                queue.Error, $"{ErrorCodes.Describe(queue.Error)}: {topic}/{number} at {request.From}.");
        }

        return new PeekResult(
            look.IsStopped ? look.Next : Math.Max(look.Next, queue.Next.Value),
            queue.Start.Value,
            queue.VisibleEnd.Value,
            queue.Error == ErrorCode.OffsetOutOfRange ? queue.Error : look.LastError,
            look.Unreadable)
        { IsStopped = look.IsStopped };
    }

    /// <summary>A copy of a record.</summary>
    public DetachedMessage Detach(QueueOffset offset, long storedTimeMs, RecordView record) =>
        DetachedMessage.Copy(topic, number, offset, storedTimeMs, record);

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
