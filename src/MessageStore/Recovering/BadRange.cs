using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Bytes of a log that were durable once and are damaged now.</summary>
/// <param name="Segment">Name of the file they are in (or should be in).</param>
/// <param name="Position">The first of them.</param>
/// <param name="Size">How many.</param>
public readonly record struct BadRange(string Segment, LogPosition Position, long Size);
