using System.Globalization;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Times in the bodies of answers.</summary>
internal static class BodyTime
{
    /// <summary>The instant of a broker's time in ms; the nearest that a calendar has.</summary>
    public static DateTime Of(long unixMs) => RecordTime.ToInstant(unixMs).UtcDateTime;

    /// <summary>As <see cref="Of"/>, and null for a time that the broker does not have.</summary>
    public static DateTime? OfKnown(long unixMs, long least) => unixMs < least ? null : Of(unixMs);

    /// <summary>ISO 8601 in UTC with milliseconds.</summary>
    public static string Text(DateTimeOffset time) =>
        time.UtcDateTime.ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z'", CultureInfo.InvariantCulture);
}
