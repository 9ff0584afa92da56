using System.CommandLine.Parsing;
using EQueue.Protocol;

namespace EQueue.Cli.Input;

/// <summary>Reads points in time as ISO 8601 writes them, for every option that takes one: a day, or a day and a time
/// down to 100 ns; UTC unless they say otherwise.</summary>
internal static class TimeText
{
    /// <returns>Null when it is no such time: a place's own way to write dates, or a time of day alone, is
    /// none.</returns>
    public static DateTimeOffset? TryRead(ReadOnlySpan<char> text) =>
        RecordTime.TryRead(text, out DateTimeOffset time) ? time : null;

    /// <summary>For an option's parser.</summary>
    public static DateTimeOffset? Parse(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (TryRead(text) is { } time)
            return time;
        result.AddError($"'{text}' is no time: write 2026-01-31T12:00:00Z.");
        return null;
    }
}
