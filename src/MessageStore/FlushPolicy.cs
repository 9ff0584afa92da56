namespace EQueue.MessageStore;

/// <summary>When an append is acknowledged and becomes visible to readers.</summary>
public enum FlushPolicy
{
    /// <summary>When durable: fdatasync returned (group commit). Survives a power cut.</summary>
    Sync,

    /// <summary>When written: handed to the system, made durable every <see cref="StoreOptions.FlushInterval"/>.
    /// Survives kill -9.</summary>
    Async,
}
