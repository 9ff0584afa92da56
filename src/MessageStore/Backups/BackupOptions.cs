namespace EQueue.MessageStore;

/// <summary>What a backup is made of, and how.</summary>
public sealed record BackupOptions
{
    /// <summary>The data directory of the store, which may be in use.</summary>
    public required string DataDirectory { get; init; }

    /// <summary>The backup's folder: new, empty, or with a backup of the same store.</summary>
    public required string BackupDirectory { get; init; }

    /// <summary>Copies no faster than so many bytes per second, 1 or more; null: as fast as the disks do it.
    /// Default: null.</summary>
    public long? BytesPerSecond { get; init; }

    /// <summary>Called on the same thread after each piece. Default: null.</summary>
    public Action<FileProgress>? Progress { get; init; }

    /// <summary>Says when the backup began. Default: the system's clock.</summary>
    public TimeProvider Time { get; init; } = TimeProvider.System;
}
