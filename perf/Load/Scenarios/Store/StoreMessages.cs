using EQueue.Load.Measuring;

namespace EQueue.Load.Scenarios;

/// <summary>What a store and its bare loop are given, before anything is written.</summary>
/// <param name="OneInFlight">One message a request, one request at a time; else as many as 64 MB hold.</param>
internal sealed record StoreOrder(
    FlushMode Flush, int Size, int Producers, int Queues, bool OneInFlight, int Seed, Faults Faults);

/// <summary>One run of the store in a fresh directory: by time, or by count when messages are given.</summary>
/// <param name="Messages">Of all producers together; rounded up to whole batches.</param>
internal sealed record AppendOrder(string Directory, double Seconds, long? Messages);

/// <summary>What a store did.</summary>
/// <param name="FirstSentNs">On <see cref="Clock"/>.</param>
/// <param name="LastAckedNs">On <see cref="Clock"/>.</param>
/// <param name="EntryBytes">What one batch of a request is in the log.</param>
/// <param name="Ack">From the call to append until the store says that the request is there.</param>
/// <param name="Check">The verdict on everything that the store gave back.</param>
internal sealed record AppendRunResult(
    long Messages,
    int BatchMessages,
    int EntryBytes,
    long FirstSentNs,
    long LastAckedNs,
    long BytesWritten,
    long Syncs,
    LatencyCounts Ack,
    CheckResult Check,
    ProcessFigures Start,
    ProcessFigures End);

/// <summary>One run of the bare loop.</summary>
/// <param name="Bytes">In all.</param>
/// <param name="BytesPerSync">Written before each fdatasync; null: another thread syncs every 100 ms.</param>
internal sealed record BareOrder(string File, long Bytes, long? BytesPerSync);

/// <summary>What the bare loop did.</summary>
/// <param name="Sync">From the first byte of a group until it is durable; empty without groups.</param>
internal sealed record BareResult(double Seconds, long Syncs, LatencyCounts Sync);
