namespace EQueue.Server;

/// <summary>What the process says when it ends. Scripts rely on the numbers.</summary>
internal static class ExitCode
{
    /// <summary>Stopped in order.</summary>
    public const int Clean = 0;

    /// <summary>Everything without a number of its own.</summary>
    public const int Other = 1;

    /// <summary>A setting is unknown or out of its range.</summary>
    public const int Configuration = 2;

    /// <summary>The data directory is locked by another process, cannot be read, is of another version, or has no room.
    /// </summary>
    public const int DataDirectory = 3;

    /// <summary>A port is in use.</summary>
    public const int PortInUse = 4;

    /// <summary>The store met a fault: a write or a sync failed.</summary>
    public const int StoreFault = 5;
}
