using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Finds single messages of a topic, each queue at the broker that holds it, over connections of its
/// own.</summary>
/// <remarks>One look-up at a time; disposed, it disconnects.</remarks>
internal sealed class MessageFinder : IAsyncDisposable
{
    private const int PieceBytes = 1024 * 1024;

    /// <summary>Offsets asked for at once: each is read on its own.</summary>
    private const int MaxOffsets = 1_000;

    private readonly Dictionary<ServerAddress, BrokerLink> _links = [];
    private readonly List<QueuePeek> _queues = [];
    private readonly string _topic;
    private readonly Route _route;
    private long _unreadableCount;

    private MessageFinder(string topic, Route route)
    {
        _topic = topic;
        _route = route;
    }

    /// <summary>Learns where the topic's queues are; nothing is connected to them yet.</summary>
    /// <exception cref="EQueueException">UnknownTopic, InvalidName, Unreachable.</exception>
    public static async ValueTask<MessageFinder> OpenAsync(
        BrokerDirectory directory, string topic, CancellationToken cancellationToken)
    {
        Route route = await directory.RouteOfAsync(topic, cancellationToken).ConfigureAwait(false);
        IReadOnlyList<QueueRoute> queues = route.QueuesOf(topic);
        var finder = new MessageFinder(topic, route);
        foreach (QueueRoute queue in queues)
        {
            ServerAddress address = route.AddressOf(queue);
            if (!finder._links.TryGetValue(address, out BrokerLink? link))
                finder._links.Add(address, link = directory.Open(address));
            var key = new QueueKey(queue.Log, queue.Id);
            finder._queues.Add(new QueuePeek(link, directory.Options, topic, queue.Number, key));
        }

        return finder;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (BrokerLink link in _links.Values)
            await link.DisposeAsync().ConfigureAwait(false);
    }

    /// <summary>The message at an offset; null when there is none.</summary>
    public async ValueTask<DetachedMessage?> ReadAsync(
        int queue, long offset, CancellationToken cancellationToken)
    {
        QueuePeek peek = At(queue);
        (long start, long end) = await peek.FindEndsAsync(cancellationToken).ConfigureAwait(false);
        if (offset < start || offset >= end)
            return null;
        DetachedMessage? found = null;
        PeekResult result = await peek.ReadAsync(offset, maxBytes: 1, Visit, cancellationToken).ConfigureAwait(false);
        if (found is not null || result.Error is ErrorCode.None or ErrorCode.OffsetOutOfRange)
            return found;
        throw new EQueueException(
            result.Error == ErrorCode.UnsupportedCodec ? result.Error : ErrorCode.DamagedData,
            $"{ErrorCodes.Describe(result.Error)}: offset {offset} of queue {queue}.");

        bool Visit(QueueOffset at, long storedTimeMs, RecordView record)
        {
            if (at.Value == offset)
                found = peek.Detach(at, storedTimeMs, record);
            return at.Value < offset;
        }
    }

    /// <summary>The oldest messages stored in a time.</summary>
    public async ValueTask<FoundMessages> ReadRangeAsync(
        DateTimeOffset since, DateTimeOffset? until, int? queue, int limit, CancellationToken cancellationToken)
    {
        var pick = new MessagePick(limit, newest: false);
        foreach (QueuePeek peek in Choose(queue))
        {
            (long from, long to) = await peek.FindRangeAsync(since, until, cancellationToken).ConfigureAwait(false);
            await ShowAsync(peek, from, to, pick, endsWithoutRoom: true, cancellationToken).ConfigureAwait(false);
        }

        return new FoundMessages(pick.ToArray(), pick.HasMore, _unreadableCount);
    }

    /// <summary>The newest messages.</summary>
    public async ValueTask<FoundMessages> ReadLatestAsync(int count, int? queue, CancellationToken cancellationToken)
    {
        var pick = new MessagePick(count, newest: true);
        foreach (QueuePeek peek in Choose(queue))
        {
            (long start, long end) = await peek.FindEndsAsync(cancellationToken).ConfigureAwait(false);
            long from = Math.Max(start, end - count);
            pick.HasMore |= from > start;
            await ShowAsync(peek, from, end, pick, endsWithoutRoom: false, cancellationToken).ConfigureAwait(false);
        }

        return new FoundMessages(pick.ToArray(), pick.HasMore, _unreadableCount);
    }

    /// <summary>The oldest messages with a key.</summary>
    public async ValueTask<FoundMessages> FindByKeyAsync(
        ReadOnlyMemory<byte> key, KeySearchOptions options, CancellationToken cancellationToken)
    {
        var pick = new MessagePick(options.Limit, newest: false);
        int? queue = options.Queue
            ?? (options.AllQueues ? null : _queues[Murmur2.QueueOf(key.Span, _queues.Count)].Number);
        foreach (QueuePeek peek in Choose(queue))
        {
            (long from, long to) = await peek
                .FindRangeAsync(options.Since, options.Until, cancellationToken).ConfigureAwait(false);
            await FindByKeyAsync(peek, key, from, to, options.Limit, pick, cancellationToken).ConfigureAwait(false);
        }

        return new FoundMessages(pick.ToArray(), pick.HasMore, _unreadableCount);
    }

    private async ValueTask FindByKeyAsync(
        QueuePeek peek,
        ReadOnlyMemory<byte> key,
        long from,
        long to,
        int limit,
        MessagePick pick,
        CancellationToken cancellationToken)
    {
        // One more than the limit of all queues: whether there are more is told as well.
        for (long found = 0; from < to && found <= limit;)
        {
            var request = new FindByKeyRequest
            {
                Key = key,
                From = new QueueOffset(from),
                To = new QueueOffset(to),
                MaxCount = (int)Math.Min(limit + 1 - found, MaxOffsets),
            };
            FindByKeyResponse answer = await peek.FindByKeyAsync(request, cancellationToken).ConfigureAwait(false);
            _unreadableCount += answer.UnreadableCount;
            from = Math.Max(answer.NextOffset.Value, from + 1);
            found += answer.Offsets.Count;
            if (!await TakeAsync(peek, answer.Offsets, pick, cancellationToken).ConfigureAwait(false))
                return;
        }
    }

    /// <summary>Reads the messages at rising offsets; those that have gone meanwhile are left out.</summary>
    /// <returns>Whether later ones may be wanted.</returns>
    private static async ValueTask<bool> TakeAsync(
        QueuePeek peek, IReadOnlyList<QueueOffset> offsets, MessagePick pick, CancellationToken cancellationToken)
    {
        bool goesOn = true;
        int next = 0;
        while (goesOn && next < offsets.Count)
        {
            int asked = next;
            await peek.ReadAsync(offsets[next].Value, maxBytes: 1, Visit, cancellationToken).ConfigureAwait(false);
            if (next == asked)
                next++;
        }

        return goesOn;

        bool Visit(QueueOffset at, long storedTimeMs, RecordView record)
        {
            if (at != offsets[next])
                return true;
            (long storedTimeMs, int Number, long Value) place = (storedTimeMs, peek.Number, at.Value);
            goesOn = pick.Takes(place);
            if (goesOn)
                pick.Add(place, peek.Detach(at, storedTimeMs, record));
            return goesOn && ++next < offsets.Count;
        }
    }

    private async ValueTask ShowAsync(
        QueuePeek peek, long from, long to, MessagePick pick, bool endsWithoutRoom, CancellationToken cancellationToken)
    {
        bool goesOn = true;
        while (goesOn && from < to)
        {
            PeekResult result = await peek.ReadAsync(from, PieceBytes, Visit, cancellationToken).ConfigureAwait(false);
            _unreadableCount += result.UnreadableCount;
            from = result.Next;
        }

        bool Visit(QueueOffset at, long storedTimeMs, RecordView record)
        {
            goesOn = at.Value < to;
            if (!goesOn)
                return false;
            (long storedTimeMs, int Number, long Value) place = (storedTimeMs, peek.Number, at.Value);
            if (pick.Takes(place))
                pick.Add(place, peek.Detach(at, storedTimeMs, record));
            else
                goesOn = !endsWithoutRoom;
            return goesOn;
        }
    }

    private List<QueuePeek> Choose(int? queue) => queue is { } number ? [At(number)] : _queues;

    private QueuePeek At(int queue)
    {
        QueueRoute found = _route.FindQueue(_topic, queue);
        return _queues.First(peek => peek.Number == found.Number);
    }
}
