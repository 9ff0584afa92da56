using System.Globalization;

namespace EQueue.Protocol;

/// <summary>Which times a record may claim, how a time that no calendar has is shown, and how people write
/// one.</summary>
public static class RecordTime
{
    private static readonly string[] Formats =
    [
        "yyyy-MM-dd", "yyyy-MM-dd'T'HH:mmK", "yyyy-MM-dd'T'HH:mm:ssK", "yyyy-MM-dd'T'HH:mm:ss.FFFFFFFK",
    ];

    /// <summary>The first instant of year 1; ms since 1970-01-01 UTC.</summary>
    public const long EarliestMs = -62_135_596_800_000;

    /// <summary>The last millisecond of year 9999; ms since 1970-01-01 UTC.</summary>
    public const long LatestMs = 253_402_300_799_999;

    /// <summary>Whether a time lies in the years 1 to 9999.</summary>
    public static bool IsValid(long unixMs) => unixMs is >= EarliestMs and <= LatestMs;

    /// <summary>The instant; the nearest one of the years 1 to 9999 for a time beyond them. Never throws.</summary>
    public static DateTimeOffset ToInstant(long unixMs) =>
        DateTimeOffset.FromUnixTimeMilliseconds(Math.Clamp(unixMs, EarliestMs, LatestMs));

    /// <summary>Reads a time as ISO 8601 writes it: a day, or a day and a time down to 100 ns; UTC unless it says
    /// otherwise.</summary>
    /// <param name="text">What was written.</param>
    /// <param name="instant">The time, when it is one.</param>
    /// <returns>False when it is none: a place's own way to write dates, or a time of day alone, is none.</returns>
    public static bool TryRead(ReadOnlySpan<char> text, out DateTimeOffset instant)
    {
        // The framework takes +0100 beside colons, which ISO 8601 does not.
        bool hasShortOffset = text.Length > 5 && text[^5] is '+' or '-';
        return DateTimeOffset.TryParseExact(
            text, Formats, CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal, out instant)
            && !hasShortOffset;
    }
}
