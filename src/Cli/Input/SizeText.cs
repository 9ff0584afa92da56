using System.CommandLine.Parsing;
using System.Globalization;

namespace EQueue.Cli.Input;

/// <summary>Reads numbers of bytes as people write them: <c>4096</c>, <c>512KiB</c>, <c>10MiB</c>, <c>2GiB</c>,
/// <c>1TiB</c>.</summary>
internal static class SizeText
{
    private static readonly (string Suffix, long Bytes)[] Units =
        [("KiB", 1L << 10), ("MiB", 1L << 20), ("GiB", 1L << 30), ("TiB", 1L << 40), ("", 1)];

    public static long? TryRead(string text)
    {
        foreach ((string suffix, long bytes) in Units)
        {
            if (!text.EndsWith(suffix, StringComparison.OrdinalIgnoreCase))
                continue;
            ReadOnlySpan<char> digits = text.AsSpan(0, text.Length - suffix.Length);
            return long.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out long count)
                && count <= long.MaxValue / bytes ? count * bytes : null;
        }

        return null;
    }

    /// <summary>For an option's parser.</summary>
    public static long? Parse(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (TryRead(text) is { } value)
            return value;
        result.AddError($"'{text}' is no size: write 4096, 512KiB, 10MiB, 2GiB or 1TiB.");
        return null;
    }
}
