using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>Reads messages of one queue: single fetches, decoded for people.</summary>
/// <remarks>Used by one flow at a time. What cannot be read is passed over and told beside the others.</remarks>
/// <param name="call">The request.</param>
/// <param name="queue">Which queue.</param>
/// <param name="tag">Only messages with this tag; null = all.</param>
internal sealed class QueueRead(ApiCall call, QueueRoute queue, string? tag)
{
    private const int MostPlainBytes = 64 << 20;

    private readonly TagFilter _filter = new(tag is null ? [] : [tag]);

    /// <summary>Whether bytes are always shown as base64.</summary>
    public bool IsBase64 { get; init; }

    /// <summary>Fetches once.</summary>
    /// <param name="from">The first offset wanted.</param>
    /// <param name="limit">Messages at most.</param>
    /// <param name="maxBytes">Bytes of the log at most; one batch is read even if it is larger.</param>
    /// <exception cref="EQueueException">OffsetOutOfRange, QueueNotReadable.</exception>
    public async Task<MessagePage> ReadAsync(long from, int limit, int maxBytes)
    {
        var messages = new List<MessageBody>();
        PeekResult? look = await LookAsync(new PeekRequest(from, maxBytes) { TagMask = _filter.Mask }, Visit);
        if (look is not { } found)
        {
            (long start, long end) = await FindEndsAsync();
            return new MessagePage([], from, start, end, []);
        }

        if (found.Error == ErrorCode.OffsetOutOfRange)
        {
            throw new EQueueException(
                found.Error,
                $"from is {from}: queue {queue.Number} of '{call.Topic}' has offsets {found.Start} to {found.End}.");
        }

        // Behind the last message that fits nothing was looked at, as far as the reader is told.
        long next = messages.Count == limit ? messages[^1].Offset + 1 : found.Next;
        return new MessagePage(
            messages, next, found.Start, found.End,
            [.. found.Unreadable.Where(range => range.From < next).Select(Tell)]);

        bool Visit(QueueOffset at, long storedMs, RecordView record)
        {
            if (messages.Count == limit)
                return false;
            if (_filter.Matches(record))
                messages.Add(MessageText.ToBody(call.Topic, queue.Number, at.Value, storedMs, record, IsBase64));
            return true;
        }
    }

    /// <summary>Waits until there is a message to read, or no longer than that.</summary>
    /// <param name="from">The first offset wanted.</param>
    /// <param name="wait">How long.</param>
    public Task WaitAsync(long from, TimeSpan wait) =>
        LookAsync(
            new PeekRequest(from, MaxBytes: 1) { TagMask = _filter.Mask, Wait = wait }, static (_, _, _) => false);

    /// <summary>The queue's first offset, and the one after its last visible message.</summary>
    public Task<(long Start, long End)> FindEndsAsync() => call.AskAsync(link => Open(link).FindEndsAsync(call.Token));

    /// <summary>The offset that a question asks for.</summary>
    public Task<long> FindAsync(long question) =>
        call.AskAsync(link => Open(link).FindOffsetAsync(question, call.Token));

    /// <summary>Offsets of messages with a key, a bounded part of the queue.</summary>
    public Task<FindByKeyResponse> FindByKeyAsync(FindByKeyRequest request) =>
        call.AskAsync(link => Open(link).FindByKeyAsync(request, call.Token));

    private Task<PeekResult?> LookAsync(PeekRequest request, RecordVisitor visit) =>
        call.AskAsync(link => Open(link).LookAsync(request, visit, call.Token));

    private QueuePeek Open(BrokerLink link) => new(
        link, call.Client.Directory.Options, call.Topic, queue.Number, new QueueKey(queue.Log, queue.Id))
    {
        MostPlainBytes = MostPlainBytes,
    };

    private UnreadableBody Tell(UnreadableRange range) => new(
        queue.Number, range.From, range.To, range.Error.ToString(), ErrorCodes.Describe(range.Error));
}
