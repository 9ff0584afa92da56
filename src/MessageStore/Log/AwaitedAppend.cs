using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>An append of one batch whose caller awaits its end.</summary>
internal static class AwaitedAppend
{
    /// <inheritdoc cref="QueueStore.AppendAsync"/>
    public static async ValueTask<AppendResult> RunAsync(
        CommitLog log,
        QueueId queue,
        ReadOnlyMemory<byte> batch,
        Durability durability,
        CancellationToken cancellationToken)
    {
        if (RecordBatch.Check(batch.Span, out _) is var error and not ErrorCode.None)
            throw new EQueueException(error);
        var items = new AppendItem[] { new() { Queue = queue, Batch = batch, TagBits = uint.MaxValue } };
        var waiter = new TaskWaiter();
        AppendStatus status;
        while ((status = log.Append(items, durability, waiter, mayWrite: false)) == AppendStatus.NoRoom)
            await log.WaitForRoomAsync(cancellationToken);
        if (status == AppendStatus.Nothing)
            throw log.Fault ?? new EQueueException(items[0].Error);
        await waiter.Task;
        return new AppendResult(
            items[0].FirstOffset, items[0].StoredTimeMs, items[0].Epoch, items[0].Error == ErrorCode.DuplicateSequence);
    }
}
