using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>The room's log lines. Ids 2000-2099 belong to the running store, 2100-2199 to recovery.</summary>
internal static partial class Log
{
    [LoggerMessage(
        2000,
        LogLevel.Information,
        "Opened the store in {Directory}: epoch {Epoch}, end position {EndPosition}, {Segments} "
        + "segments, {Queues} queues")]
    public static partial void StoreOpened(
        ILogger logger, string directory, int epoch, long endPosition, int segments, int queues);

    [LoggerMessage(2001, LogLevel.Information, "Closed the store in {Directory} at position {EndPosition}")]
    public static partial void StoreClosed(ILogger logger, string directory, long endPosition);

    [LoggerMessage(
        2002,
        LogLevel.Critical,
        "The store in {Directory} failed: appends are refused until it is opened again")]
    public static partial void StoreFaulted(ILogger logger, Exception exception, string directory);

    [LoggerMessage(2003, LogLevel.Debug, "Began segment {Path} at position {Position}")]
    public static partial void SegmentBegun(ILogger logger, string path, long position);

    [LoggerMessage(
        2004,
        LogLevel.Warning,
        "The store in {Directory} takes no messages ({Reason}): {FreeBytes} bytes free, reserve "
        + "{ReserveBytes}")]
    public static partial void ReadOnlyEntered(
        ILogger logger,
        Exception? exception,
        string directory,
        ReadOnlyReason reason,
        long freeBytes,
        long reserveBytes);

    [LoggerMessage(
        2005,
        LogLevel.Information,
        "The store in {Directory} takes messages again ({Reason} is over): {FreeBytes} bytes free")]
    public static partial void ReadOnlyLeft(ILogger logger, string directory, ReadOnlyReason reason, long freeBytes);

    [LoggerMessage(2006, LogLevel.Warning, "Could not write {Path}; it is tried again later")]
    public static partial void BackgroundFileFailed(ILogger logger, Exception exception, string path);

    [LoggerMessage(2007, LogLevel.Debug, "Wrote {Path}: {Bytes} bytes")]
    public static partial void BackgroundFileWritten(ILogger logger, string path, long bytes);

    [LoggerMessage(2008, LogLevel.Error, "Damaged bytes in {Path} at position {Position} ({Size} bytes)")]
    public static partial void DamagedEntry(ILogger logger, string path, long position, long size);
}
