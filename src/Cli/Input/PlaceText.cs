using System.Globalization;

namespace EQueue.Cli.Input;

/// <summary>Reads places in a queue: <c>begin</c>, <c>end</c>, <c>offset:N</c>, <c>time:ISO</c>.</summary>
internal static class PlaceText
{
    /// <returns>Null when it is none of them.</returns>
    public static T? TryRead<T>(string text, T begin, T end, Func<long, T> atOffset, Func<DateTimeOffset, T> atTime)
        where T : struct
    {
        if (text == "begin")
            return begin;
        if (text == "end")
            return end;
        if (ValueOf("offset", text) is { } offset)
            return long.TryParse(offset, NumberStyles.None, null, out long value) ? atOffset(value) : null;
        return ValueOf("time", text) is { } written && TimeText.TryRead(written) is { } time ? atTime(time) : null;
    }

    /// <summary>What stands behind a word and a colon; null when the text does not begin with them.</summary>
    public static string? ValueOf(string word, string text) =>
        text.Length > word.Length && text[word.Length] == ':' && text.StartsWith(word, StringComparison.Ordinal)
            ? text[(word.Length + 1)..] : null;
}
