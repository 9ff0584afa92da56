using Microsoft.Extensions.Logging;

namespace EQueue.Support;

/// <summary>A line of the log.</summary>
/// <param name="Id">The event's.</param>
/// <param name="Text">As formatted.</param>
public sealed record LogLine(LogLevel Level, int Id, string Text, Exception? Exception);
