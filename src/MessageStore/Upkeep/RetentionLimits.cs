namespace EQueue.MessageStore;

/// <summary>What a queue keeps. Whatever exceeds one of the bounds may go; what is not set bounds nothing.</summary>
/// <param name="Age">Batches stored longer ago than this go, unless the clock is in doubt.</param>
/// <param name="Bytes">The oldest batches beyond so many bytes of entries go.</param>
/// <param name="Count">The oldest records beyond so many go.</param>
/// <param name="KeepFrom">Nothing at or after this offset goes: what a group has not consumed yet.</param>
/// <param name="AgeShare">The largest share of a queue's records that one call lets go by age, 0 to 1, or 1,000 records
/// if that is more; null = all.</param>
public readonly record struct RetentionLimits(
    TimeSpan? Age = null, long? Bytes = null, long? Count = null, QueueOffset? KeepFrom = null,
    double? AgeShare = null);
