using System.CommandLine.Parsing;
using System.Globalization;
using EQueue.Client;

namespace EQueue.Cli.Input;

/// <summary>Reads where consuming begins: <c>begin</c>, <c>end</c>, <c>offset:N</c>, <c>time:ISO</c>.</summary>
internal static class StartText
{
    public static StartPosition? TryRead(string text)
    {
        if (text == "begin") return StartPosition.Begin;
        if (text == "end") return StartPosition.End;
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (colon < 0) return null;
        ReadOnlySpan<char> value = text.AsSpan(colon + 1);
        return text[..colon] switch
        {
            "offset" when long.TryParse(value, NumberStyles.None, null, out long offset)
                => StartPosition.AtOffset(offset),
            "time" when TimeText.TryRead(value) is { } time => StartPosition.AtTime(time),
            _ => null,
        };
    }

    /// <summary>For an option's parser.</summary>
    public static StartPosition Parse(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (TryRead(text) is { } position) return position;
        result.AddError($"'{text}' is no place to start: write begin, end, offset:N or time:2026-01-31T12:00:00Z.");
        return default;
    }
}
