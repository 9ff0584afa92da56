using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>What <see cref="LogVerifier"/> found.</summary>
/// <param name="Segments">Files looked at.</param>
/// <param name="Entries">Whole entries, of every kind.</param>
/// <param name="Messages">Messages in them.</param>
/// <param name="BadRanges">Damage: bytes that were durable once, and headers of files that do not match their
/// checksum.</param>
/// <param name="FirstPosition">Where the log begins.</param>
/// <param name="EndPosition">Where it ends; in a live store it may have grown since.</param>
public sealed record LogVerification(
    int Segments,
    long Entries,
    long Messages,
    IReadOnlyList<BadRange> BadRanges,
    LogPosition FirstPosition,
    LogPosition EndPosition);
