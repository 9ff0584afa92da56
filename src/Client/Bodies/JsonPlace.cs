using System.Text.Json;

namespace EQueue.Client;

/// <summary>Says where a text is no JSON, and why.</summary>
internal static class JsonPlace
{
    /// <summary>"Line 3, column 7: ..." from 1, as editors count; null when the exception names no place.</summary>
    /// <param name="exception">What the reader of the text said.</param>
    /// <param name="line">How the words begin.</param>
    public static string? Explain(JsonException exception, string line = "Line")
    {
        if (exception is not { LineNumber: { } row, BytePositionInLine: { } column })
            return null;
        // The exception's own words end with the same place, counted from 0.
        string why = exception.Message.Split(" LineNumber:")[0].Split(" Path:")[0];
        return $"{line} {row + 1}, column {column + 1}: {why}";
    }
}
