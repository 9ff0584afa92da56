using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Looks records up by key: goes over the entries of one queue, piece by piece on the disk threads.</summary>
internal sealed class KeyFinder(CommitLog log, DiskReader reader, KeySkipper skipper)
{
    /// <summary>Bytes of one piece: other cold reads have their turn after it.</summary>
    private const int PieceBytes = 1 << 20;

    /// <inheritdoc cref="QueueStore.FindByKeyAsync"/>
    public async ValueTask<KeyMatches> FindAsync(KeyQuestion question, CancellationToken cancellationToken)
    {
        Queue queue = FindQueue(question.Queue);
        long start = queue.VisibleStart;
        long end = Math.Max(start, queue.VisibleEnd(log.Visible));
        var search = new KeySearch(question, Math.Max(question.From.Value, start), Math.Min(question.To.Value, end));
        while (!search.IsOver)
            await reader.RunAsync(queue, () => LookOn(queue, search), cancellationToken);
        return new KeyMatches(
            new QueueOffset(start),
            new QueueOffset(end),
            new QueueOffset(search.Next),
            search.Found,
            search.ReadBytes,
            search.UnreadableCount);
    }

    /// <summary>Looks at the next piece.</summary>
    /// <returns>Bytes that were read.</returns>
    private long LookOn(Queue queue, KeySearch search)
    {
        long from = search.Next;
        reader.WithWholeIndexes(() => skipper.Skip(queue, search));
        if (search.Next > from)
            return 0; // the reads of others have their turn
        long before = search.ReadBytes;
        using var bytes = new PooledBytes();
        int size = (int)Math.Min(PieceBytes, search.BytesLeft);
        ReadResult read = reader.WithWholeIndexes(() =>
        {
            bytes.Clear();
            return reader.Read(
                search.Queue, new QueueOffset(search.Next), size, TagBits.Unknown, bytes, out _);
        });
        switch (read.Error)
        {
            case ErrorCode.None when read.Size > 0:
                search.LookAt(bytes.Written);
                break;
            case ErrorCode.OffsetOutOfRange:
                // The start has moved on: what lay before it is gone.
                search.Pass(read.NextOffset.Value);
                break;
            case ErrorCode.DamagedData:
                search.PassUnreadable(Math.Max(read.NextOffset.Value, search.Next + 1));
                break;
            case ErrorCode.None:
                search.Pass(search.To);
                break;
            default:
                throw new EQueueException(read.Error);
        }
        return Math.Max(read.Size, search.ReadBytes - before);
    }

    private Queue FindQueue(QueueId id) =>
        id != QueueId.State && log.State.Queues.FindVisible(id) is { } queue
            ? queue
            : throw new EQueueException(ErrorCode.UnknownQueue);
}
