using System.Globalization;
using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>Times in bodies and parameters: ISO 8601, written in UTC.</summary>
internal static class ApiTime
{
    /// <summary>What a time in a request may look like.</summary>
    public const string Allowed = "a time in ISO 8601, such as 2026-01-31T10:00:00Z";

    private static readonly string[] Formats =
    [
        "yyyy-MM-dd", "yyyy-MM-dd'T'HH:mmK", "yyyy-MM-dd'T'HH:mm:ssK", "yyyy-MM-dd'T'HH:mm:ss.FFFFFFFK",
    ];

    public static DateTime Of(long unixMs) => RecordTime.ToInstant(unixMs).UtcDateTime;

    /// <summary>Reads a day, or a day and a time down to 100 ns; without a zone it is UTC. The command line takes the
    /// same.</summary>
    public static bool TryReadMs(string text, out long unixMs)
    {
        // The framework takes +0100 beside colons, which ISO 8601 does not.
        bool hasShortOffset = text.Length > 5 && text[^5] is '+' or '-';
        bool isTime = DateTimeOffset.TryParseExact(
            text, Formats, CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal, out DateTimeOffset time)
            && !hasShortOffset;
        unixMs = isTime ? Math.Max(0, time.ToUnixTimeMilliseconds()) : 0;
        return isTime;
    }
}
