using System.CommandLine.Parsing;
using System.Globalization;

namespace EQueue.Cli.Input;

/// <summary>Reads counts: 0 or more, digits alone.</summary>
internal static class CountText
{
    /// <summary>For an option's parser.</summary>
    public static long? Parse(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long count))
            return count;
        result.AddError($"'{text}' is no count: write a number, 0 or more.");
        return null;
    }
}
