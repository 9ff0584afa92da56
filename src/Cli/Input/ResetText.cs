using System.CommandLine.Parsing;
using System.Globalization;

namespace EQueue.Cli.Input;

/// <summary>Reads where a group is set to: <c>begin</c>, <c>end</c>, <c>offset:N</c>, <c>time:ISO</c>,
/// <c>by:N</c>.</summary>
internal static class ResetText
{
    public static ResetPosition? TryRead(string text)
    {
        if (PlaceText.ValueOf("by", text) is not { } by)
        {
            return PlaceText.TryRead(
                text, ResetPosition.Begin, ResetPosition.End, ResetPosition.AtOffset, ResetPosition.AtTime);
        }

        return long.TryParse(by, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long messages)
            ? ResetPosition.By(messages) : null;
    }

    /// <summary>For an option's parser.</summary>
    public static ResetPosition Parse(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (TryRead(text) is { } position)
            return position;
        result.AddError(
            $"'{text}' is no place to go on: write begin, end, offset:N, time:2026-01-31T12:00:00Z or by:N.");
        return default;
    }
}
