using System.CommandLine.Parsing;
using System.Globalization;

namespace EQueue.Cli.Input;

/// <summary>Reads points in time as ISO 8601 writes them; UTC unless they say otherwise.</summary>
internal static class TimeText
{
    public static DateTimeOffset? TryRead(ReadOnlySpan<char> text) =>
        DateTimeOffset.TryParse(
            text, CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal, out DateTimeOffset time) ? time : null;

    /// <summary>For an option's parser.</summary>
    public static DateTimeOffset? Parse(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (TryRead(text) is { } time) return time;
        result.AddError($"'{text}' is no time: write 2026-01-31T12:00:00Z.");
        return null;
    }
}
