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

    [LoggerMessage(2009, LogLevel.Information, "Removed segment {Path}: nothing in its {Bytes} bytes is kept any more")]
    public static partial void SegmentRemoved(ILogger logger, string path, long bytes);

    [LoggerMessage(
        2010, LogLevel.Information, "Packed {Segments} segments of {BytesBefore} bytes into {Path} of {Bytes} bytes")]
    public static partial void SegmentsPacked(ILogger logger, int segments, long bytesBefore, string path, long bytes);

    [LoggerMessage(
        2020, LogLevel.Error,
        "The scrub found damage in {File}: {Size} bytes from position {Position} are not as they were written")]
    public static partial void ScrubFoundDamage(ILogger logger, string file, long position, long size);

    [LoggerMessage(
        2021, LogLevel.Information,
        "Scrubbed {Segments} segments in {Directory}: {Bytes} bytes read in {Elapsed}, {BadRanges} bad ranges")]
    public static partial void ScrubPassEnded(
        ILogger logger, string directory, int segments, long bytes, TimeSpan elapsed, long badRanges);

    [LoggerMessage(2022, LogLevel.Warning, "Could not scrub {Path}; the next pass tries again")]
    public static partial void ScrubFailed(ILogger logger, Exception exception, string path);

    [LoggerMessage(
        2210, LogLevel.Warning,
        "The wall clock was set by {Step}: nothing goes for its age within the next {Pause}")]
    public static partial void ClockSet(ILogger logger, TimeSpan step, TimeSpan pause);

    [LoggerMessage(
        2211, LogLevel.Warning,
        "The wall clock is {Jump} ahead of the last time at which the log was used: in case it is wrong, nothing goes "
        + "for its age within the next {Pause}; set back meanwhile, stored times go back with it")]
    public static partial void ClockAheadAtStart(ILogger logger, TimeSpan jump, TimeSpan pause);

    [LoggerMessage(
        2212, LogLevel.Warning,
        "The wall clock is {Behind} behind the stored times of the log. Set the clock if it is wrong. If it is right, "
        + "start the server once with --Store:AcceptClock true: stored times go back to the clock's")]
    public static partial void ClockBehindLog(ILogger logger, TimeSpan behind);

    [LoggerMessage(
        2213, LogLevel.Warning,
        "The wall clock has been {Gap} ahead of what the time was for so long that it is believed: messages are stored "
        + "and go by it from now on")]
    public static partial void ClockBelieved(ILogger logger, TimeSpan gap);

    [LoggerMessage(
        2214, LogLevel.Warning,
        "Stored times of the log in {Directory} went back by {Back}: what had been stored before counts as stored at "
        + "{Time:O} at the latest")]
    public static partial void StoredTimeReset(ILogger logger, string directory, TimeSpan back, DateTimeOffset time);

    [LoggerMessage(
        2215, LogLevel.Warning,
        "The setting Store:AcceptClock is on: take it away, or the next start with a wrong clock is believed")]
    public static partial void ClockAccepted(ILogger logger);

    [LoggerMessage(
        2220, LogLevel.Error,
        "The segment {Path} (positions {From} to {To}) is gone or cannot be read: its messages are lost, their readers "
        + "are told which, the rest is served")]
    public static partial void SegmentLost(ILogger logger, Exception exception, string path, long from, long to);

    [LoggerMessage(
        2221, LogLevel.Warning,
        "A {Call} of the log in {Directory} has not ended for {Age}: the disk hangs, and nothing is acknowledged")]
    public static partial void DiskStalled(ILogger logger, string call, string directory, TimeSpan age);

    [LoggerMessage(2222, LogLevel.Warning, "The disk of the log in {Directory} goes on after {Age}")]
    public static partial void DiskGoesOn(ILogger logger, string directory, TimeSpan age);

    [LoggerMessage(2100, LogLevel.Information, "Made a new store {StoreId} in {Directory}")]
    public static partial void StoreMade(ILogger logger, string directory, Guid storeId);

    [LoggerMessage(
        2101, LogLevel.Warning,
        "Cut the torn tail of {Path}: the log ends at position {Position}, {Bytes} bytes of the file follow")]
    public static partial void TornTailCut(ILogger logger, string path, long position, long bytes);

    [LoggerMessage(2102, LogLevel.Warning, "Removed {Path}: the log ends before it at position {Position}")]
    public static partial void SegmentBehindEndRemoved(ILogger logger, string path, long position);

    [LoggerMessage(
        2103, LogLevel.Error,
        "Damaged bytes in {Segment}: {Size} from position {Position} were durable once and cannot be read; "
        + "what they held is lost, the rest is served")]
    public static partial void DamagedRange(ILogger logger, string segment, long position, long size);

    [LoggerMessage(2104, LogLevel.Error, "Queue {Queue} lost offsets {First} to {Last} by damage")]
    public static partial void OffsetsLost(ILogger logger, uint queue, long first, long last);

    [LoggerMessage(2105, LogLevel.Warning, "The snapshot {Path} cannot be used ({Reason}); trying an older one")]
    public static partial void SnapshotSkipped(ILogger logger, string path, string reason);

    [LoggerMessage(2106, LogLevel.Warning, "Rebuilt the index of {Path}")]
    public static partial void IndexRebuilt(ILogger logger, string path);

    [LoggerMessage(2107, LogLevel.Warning, "Rewrote the header of {Path}, which was {Verdict}")]
    public static partial void SegmentHeaderRewritten(ILogger logger, string path, FileVerdict verdict);

    [LoggerMessage(
        2108, LogLevel.Error, "State was lost by damage and the setting Store:AcceptLostState is on: {Reason}")]
    public static partial void LostStateAccepted(ILogger logger, string reason);

    [LoggerMessage(
        2109, LogLevel.Information,
        "Recovered the log in {Directory}: replayed from {ReplayPosition} to {EndPosition}, rewrote "
        + "{RewrittenBytes} bytes that were not proven durable")]
    public static partial void LogRecovered(
        ILogger logger, string directory, long replayPosition, long endPosition, long rewrittenBytes);

    [LoggerMessage(
        2110, LogLevel.Warning,
        "The file {Path} was missing or damaged and was written again from the segments")]
    public static partial void StoreFileRebuilt(ILogger logger, string path);

    [LoggerMessage(2111, LogLevel.Error, "The index of {Path} has gaps, for the segment is damaged: {Reason}")]
    public static partial void IndexRebuiltWithGaps(ILogger logger, string path, string reason);

    [LoggerMessage(2113, LogLevel.Debug, "Wrote key filters of {QueueCount} queues into {Path}")]
    public static partial void KeyFiltersWritten(ILogger logger, string path, int queueCount);

    [LoggerMessage(2112, LogLevel.Error, "The memory is full and its oldest messages could not go; it is tried again")]
    public static partial void OldestStay(ILogger logger, Exception exception);

    [LoggerMessage(
        2114, LogLevel.Error, "A listener to how long writes or syncs take threw; it is told nothing more of them")]
    public static partial void ListenerThrew(ILogger logger, Exception exception);

    [LoggerMessage(
        2115, LogLevel.Information,
        "Opened the replica in {Directory}: its log ends at {End} in epoch {Epoch}, {Bytes} bytes were made durable "
        + "again, whole: {IsWhole}")]
    public static partial void ReplicaOpened(
        ILogger logger, string directory, long end, int epoch, long bytes, bool isWhole);

    [LoggerMessage(2200, LogLevel.Warning,
        "The store in {Directory} waits: the system has no descriptor or no memory for it now; it tries again every "
        + "second")]
    public static partial void ShortageBegan(ILogger logger, Exception exception, string directory);

    [LoggerMessage(2201, LogLevel.Information, "The store in {Directory} waits no longer: the shortage is over")]
    public static partial void ShortageEnded(ILogger logger, string directory);
}
