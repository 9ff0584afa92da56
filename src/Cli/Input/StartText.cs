using System.CommandLine.Parsing;

namespace EQueue.Cli.Input;

/// <summary>Reads where consuming begins: <c>begin</c>, <c>end</c>, <c>offset:N</c>, <c>time:ISO</c>.</summary>
internal static class StartText
{
    public static StartPosition? TryRead(string text) => PlaceText.TryRead(
        text, StartPosition.Begin, StartPosition.End, StartPosition.AtOffset, StartPosition.AtTime);

    /// <summary>For an option's parser.</summary>
    public static StartPosition Parse(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (TryRead(text) is { } position)
            return position;
        result.AddError($"'{text}' is no place to start: write begin, end, offset:N or time:2026-01-31T12:00:00Z.");
        return default;
    }
}
