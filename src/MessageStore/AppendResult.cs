namespace EQueue.MessageStore;

/// <summary>Where a batch was stored.</summary>
/// <param name="FirstOffset">The first record's offset.</param>
/// <param name="StoredTimeMs">Unix milliseconds.</param>
/// <param name="Epoch">The epoch stamped.</param>
/// <param name="IsDuplicate">Whether it had been stored before.</param>
public readonly record struct AppendResult(QueueOffset FirstOffset, long StoredTimeMs, int Epoch, bool IsDuplicate);
