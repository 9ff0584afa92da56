using EQueue.Load.Measuring;

namespace EQueue.Load.Scenarios;

/// <summary>One run in a fresh directory: by time, or by count when messages are given.</summary>
/// <param name="Messages">Rounded up to whole batches.</param>
/// <param name="RatePerSecond">Messages; null: as many as the store takes.</param>
/// <param name="KeepCount">Records that a short-lived queue keeps; null: nothing is let go.</param>
internal sealed record PackingOrder(
    string Directory, double Seconds, long? Messages, int? RatePerSecond, int? KeepCount);

/// <summary>What a store did while it let go, or did not.</summary>
/// <param name="FirstSentNs">On <see cref="Clock"/>.</param>
/// <param name="LastAckedNs">On <see cref="Clock"/>.</param>
/// <param name="LogBytes">Of the log's files when the cleaner had no more to do.</param>
/// <param name="ReplayBytes">Of those among them that recovery may still replay.</param>
/// <param name="LiveBytes">Of the entries that the queues give back.</param>
/// <param name="SettleSeconds">From the end of the appends until the cleaner had no more to do.</param>
/// <param name="Ack">From the call to append, or from when it was due, until the store says that it is there.</param>
/// <param name="Check">The verdict on everything that is kept.</param>
internal sealed record PackingResult(
    long Messages,
    int BatchMessages,
    long FirstSentNs,
    long LastAckedNs,
    long BytesWritten,
    long Syncs,
    long LogBytes,
    long ReplayBytes,
    long LiveBytes,
    long SegmentsRemoved,
    long SegmentsPacked,
    double SettleSeconds,
    LatencyCounts Ack,
    CheckResult Check,
    ProcessFigures Start,
    ProcessFigures End);
