using System.CommandLine.Parsing;
using System.Globalization;

namespace EQueue.Cli.Input;

/// <summary>Queues of a topic as people write them: <c>3</c>, <c>3,5-7</c>, <c>all</c>.</summary>
internal static class QueueListText
{
    /// <summary>The word for every queue that the topic has now.</summary>
    public const string All = "all";

    /// <summary>More than a broker allows a topic.</summary>
    private const int MostNumber = 99_999;

    /// <summary>Reads the option; none = all.</summary>
    public static int[] Parse(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (text == All)
            return [];
        var numbers = new SortedSet<int>();
        foreach (string part in text.Split(','))
        {
            int dash = part.IndexOf('-');
            string first = dash < 0 ? part : part[..dash];
            string last = dash < 0 ? part : part[(dash + 1)..];
            if (!TryRead(first, out int from) || !TryRead(last, out int to) || from > to)
            {
                result.AddError($"'{text}' names no queues: numbers and ranges such as 3,5-7, or {All}.");
                return [];
            }

            numbers.UnionWith(Enumerable.Range(from, to - from + 1));
        }

        return [.. numbers];
    }

    private static bool TryRead(string text, out int number) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out number) && number <= MostNumber;
}
