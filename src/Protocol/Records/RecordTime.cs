namespace EQueue.Protocol;

/// <summary>Which times a record may claim, and how a time that no calendar has is shown.</summary>
public static class RecordTime
{
    /// <summary>The first instant of year 1; ms since 1970-01-01 UTC.</summary>
    public const long EarliestMs = -62_135_596_800_000;

    /// <summary>The last millisecond of year 9999; ms since 1970-01-01 UTC.</summary>
    public const long LatestMs = 253_402_300_799_999;

    /// <summary>Whether a time lies in the years 1 to 9999.</summary>
    public static bool IsValid(long unixMs) => unixMs is >= EarliestMs and <= LatestMs;

    /// <summary>The instant; the nearest one of the years 1 to 9999 for a time beyond them. Never throws.</summary>
    public static DateTimeOffset ToInstant(long unixMs) =>
        DateTimeOffset.FromUnixTimeMilliseconds(Math.Clamp(unixMs, EarliestMs, LatestMs));
}
