using System.Globalization;
using System.Text.Encodings.Web;
using System.Text.Json;

namespace EQueue.Cli.Output;

/// <summary>How JSON lines are written.</summary>
internal static class JsonText
{
    /// <summary>One line; only what JSON itself needs is escaped.</summary>
    public static JsonWriterOptions Options { get; } = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    /// <summary>ISO 8601 in UTC with milliseconds.</summary>
    public static string Time(DateTimeOffset time)
        => time.UtcDateTime.ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z'", CultureInfo.InvariantCulture);
}
