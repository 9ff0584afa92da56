using System.CommandLine.Parsing;
using System.Globalization;

namespace EQueue.Cli.Input;

/// <summary>Reads points in time as ISO 8601 writes them, for every option that takes one: a day, or a day and a time
/// down to 100 ns; UTC unless they say otherwise.</summary>
internal static class TimeText
{
    private static readonly string[] Formats =
    [
        "yyyy-MM-dd", "yyyy-MM-dd'T'HH:mmK", "yyyy-MM-dd'T'HH:mm:ssK", "yyyy-MM-dd'T'HH:mm:ss.FFFFFFFK",
    ];

    /// <returns>Null when it is no such time: a place's own way to write dates, or a time of day alone, is
    /// none.</returns>
    public static DateTimeOffset? TryRead(ReadOnlySpan<char> text) =>
        !HasShortOffset(text)
        && DateTimeOffset.TryParseExact(
            text,
            Formats,
            CultureInfo.InvariantCulture,
            DateTimeStyles.AssumeUniversal,
            out DateTimeOffset time) ? time : null;

    /// <summary>For an option's parser.</summary>
    public static DateTimeOffset? Parse(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (TryRead(text) is { } time) return time;
        result.AddError($"'{text}' is no time: write 2026-01-31T12:00:00Z.");
        return null;
    }

    /// <summary>The framework takes <c>+0100</c> beside colons, which ISO 8601 does not.</summary>
    private static bool HasShortOffset(ReadOnlySpan<char> text) => text.Length > 5 && text[^5] is '+' or '-';
}
