using System.Buffers;
using System.Globalization;
using System.Text;

namespace EQueue.Remoting;

/// <summary>Text of a peer as a log or a terminal may show it: what would end a line, move the cursor, change how text
/// looks or hide some of it is written out.</summary>
public static class PrintableText
{
    private static readonly SearchValues<char> Unprintable = SearchValues.Create(
        [.. Enumerable.Range(0, char.MaxValue + 1).Select(code => (char)code).Where(IsUnprintable)]);

    /// <summary>Whether nothing needs to be written out.</summary>
    public static bool Is(ReadOnlySpan<char> text) => !text.ContainsAny(Unprintable);

    /// <summary>The text with each such character as <c>\n</c>, <c>\r</c>, <c>\t</c> or <c>\u</c> and four hexadecimal
    /// digits; the same object when there is none.</summary>
    public static string Of(string text)
    {
        ArgumentNullException.ThrowIfNull(text);
        if (Is(text))
            return text;
        var printable = new StringBuilder(text.Length + 16);
        foreach (char character in text)
        {
            if (!Unprintable.Contains(character))
            {
                printable.Append(character);
                continue;
            }

            printable.Append(character switch
            {
                '\n' => "\\n",
                '\r' => "\\r",
                '\t' => "\\t",
                _ => string.Create(CultureInfo.InvariantCulture, $"\\u{(int)character:X4}"),
            });
        }

        return printable.ToString();
    }

    /// <summary>Controls (C0, DEL, C1), separators of lines and paragraphs, and marks that turn the direction of
    /// writing.</summary>
    private static bool IsUnprintable(char character) =>
        char.IsControl(character)
        || character is '\u2028' or '\u2029' or '\u200E' or '\u200F' or '\u061C'
            or (>= '\u202A' and <= '\u202E') or (>= '\u2066' and <= '\u2069');
}
