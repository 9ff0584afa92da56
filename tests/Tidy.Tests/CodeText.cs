namespace EQueue.Tidy.Tests;

/// <summary>Tells C# code from what only looks like it: comments, strings and characters become spaces.</summary>
internal static class CodeText
{
    public static string Blank(string text)
    {
        char[] code = text.ToCharArray();
        int at = 0;
        while (at < text.Length)
        {
            int end = EndOfQuiet(text, at);
            if (end == at)
            {
                at++;
                continue;
            }

            for (; at < end; at++)
            {
                if (code[at] != '\n')
                    code[at] = ' ';
            }
        }

        return new string(code);
    }

    /// <summary>The end of the comment, string or character that begins at <paramref name="at"/>, else that place.</summary>
    private static int EndOfQuiet(string text, int at)
    {
        if (Starts(text, at, "//"))
            return EndOf(text, at, "\n", keep: true);
        if (Starts(text, at, "/*"))
            return EndOf(text, at + 2, "*/");
        if (text[at] == '\'')
            return EndOfEscaped(text, at + 1, '\'');
        if (text[at] != '"')
            return at;
        int quotes = CountQuotes(text, at);
        if (quotes >= 3)
            return EndOf(text, at + quotes, new string('"', quotes));
        return IsVerbatim(text, at) ? EndOfVerbatim(text, at + 1) : EndOfEscaped(text, at + 1, '"');
    }

    private static bool Starts(string text, int at, string what)
        => string.CompareOrdinal(text, at, what, 0, what.Length) == 0;

    private static int EndOf(string text, int from, string mark, bool keep = false)
    {
        int found = text.IndexOf(mark, from, StringComparison.Ordinal);
        return found < 0 ? text.Length : keep ? found : found + mark.Length;
    }

    private static int CountQuotes(string text, int at)
    {
        int count = 0;
        while (at + count < text.Length && text[at + count] == '"')
            count++;
        return count;
    }

    private static bool IsVerbatim(string text, int at)
        => (at > 0 && text[at - 1] == '@') || (at > 1 && text[at - 1] == '$' && text[at - 2] == '@');

    private static int EndOfVerbatim(string text, int at)
    {
        for (; at < text.Length; at++)
        {
            if (text[at] != '"')
                continue;
            if (at + 1 >= text.Length || text[at + 1] != '"')
                return at + 1;
            at++;
        }

        return text.Length;
    }

    /// <remarks>A string with holes ends at the first bare quote, which is near enough: holes hold no long code.</remarks>
    private static int EndOfEscaped(string text, int at, char quote)
    {
        for (; at < text.Length && text[at] != '\n'; at++)
        {
            if (text[at] == '\\')
                at++;
            else if (text[at] == quote)
                return at + 1;
        }

        return Math.Min(at, text.Length);
    }
}
