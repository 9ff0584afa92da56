using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>Times in requests: ISO 8601.</summary>
internal static class ApiTime
{
    /// <summary>What a time in a request may look like.</summary>
    public const string Allowed = "a time in ISO 8601, such as 2026-01-31T10:00:00Z";

    /// <summary>Reads a time as <see cref="RecordTime.TryRead"/>, and so the command line, takes it.</summary>
    public static bool TryReadMs(string text, out long unixMs)
    {
        bool isTime = RecordTime.TryRead(text, out DateTimeOffset time);
        unixMs = isTime ? Math.Max(0, time.ToUnixTimeMilliseconds()) : 0;
        return isTime;
    }
}
