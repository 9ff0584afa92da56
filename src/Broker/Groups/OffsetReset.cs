using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Where a reset puts a group in a queue.</summary>
/// <param name="To">What <paramref name="Value"/> means.</param>
/// <param name="Value">Offset, Unix ms or messages.</param>
internal readonly record struct OffsetReset(ResetTarget To, long Value)
{
    /// <exception cref="EQueueException">InvalidArgument.</exception>
    public void Check()
    {
        if (!Enum.IsDefined(To))
            throw RequestRules.Invalid($"A reset goes to 0 to {(int)ResetTarget.ShiftBy}; asked for {(int)To}.");
        if (To is ResetTarget.Offset or ResetTarget.Time && Value < 0)
            throw RequestRules.Invalid($"An offset or a time is 0 or more; asked for {Value}.");
    }

    /// <summary>The same with a time turned into the offset that it stands for in a queue. It may read from the
    /// disk.</summary>
    /// <exception cref="EQueueException">UnknownQueue, DamagedData.</exception>
    public async ValueTask<OffsetReset> ResolveAsync(
        QueueStore store, QueueId queue, CancellationToken cancellationToken) =>
        To == ResetTarget.Time
            ? new OffsetReset(
                ResetTarget.Offset, (await store.FindOffsetAsync(queue, Value, cancellationToken)).Value)
            : this;

    /// <summary>The place in a queue as it stands now, within its start and end; of one that is resolved.</summary>
    /// <param name="queue">The queue.</param>
    /// <param name="committed">Where the group is; null = nowhere: a shift has no answer.</param>
    public QueueOffset? Place(in QueueView queue, QueueOffset? committed)
    {
        Int128? wanted = To switch
        {
            ResetTarget.Begin => queue.Start.Value,
            ResetTarget.End => queue.End.Value,
            ResetTarget.ShiftBy => (Int128?)committed?.Value + Value,
            _ => Value,
        };
        return wanted is { } place
            ? new QueueOffset((long)Int128.Clamp(place, queue.Start.Value, queue.End.Value))
            : null;
    }
}
