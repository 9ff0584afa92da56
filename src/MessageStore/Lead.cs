using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>How a store is opened that leads replicas: who may lead, and what all of them have, was decided
/// elsewhere.</summary>
/// <param name="Epoch">The epoch that was given to this leader; above all in the log.</param>
/// <param name="Committed">Below it everything is known to be committed: what readers see until
/// <see cref="QueueStore.SetCommitted"/> tells more. At most the end of the log.</param>
/// <param name="Durable">Below it this disk has everything durably, as the replica noted: opening writes and syncs the
/// rest again.</param>
public sealed record Lead(int Epoch, LogPosition Committed, LogPosition Durable);
