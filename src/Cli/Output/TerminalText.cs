using System.Buffers;
using System.Globalization;
using System.Text;

namespace EQueue.Cli.Output;

/// <summary>
/// What peers and stored data say, so that a terminal shows it and does not obey it: the one place where it is
/// escaped.
/// </summary>
/// <remarks>
/// Escaped as <c>\u001b</c> are control characters (C0 but line feed and tab, DEL, C1), what turns the direction of
/// text (bidi), what is invisible (format characters), line and paragraph separators; bytes that are no UTF-8 as
/// <c>\x9b</c>. Within a JSON string the escape means the same character, so JSON stays what it was.
/// </remarks>
internal static class TerminalText
{
    private const char LineFeed = '\n';
    private const char Tab = '\t';

    /// <summary>A text that is part of a line: line feeds and tabs are escaped too.</summary>
    public static string OneLine(string text) => Escape(text, isLine: true);

    /// <summary>A text that may have lines.</summary>
    public static string Lines(string text) => Escape(text, isLine: false);

    /// <summary>Writes bytes that are UTF-8, escaped.</summary>
    /// <param name="bytes">From the start of a character on.</param>
    /// <param name="isLast">Whether a character that is not whole at the end stays so.</param>
    /// <param name="output">Takes the result.</param>
    /// <returns>Bytes of <paramref name="bytes"/> that are written; the rest, 3 at most, begins a character.</returns>
    public static int Write(ReadOnlySpan<byte> bytes, bool isLast, Stream output)
    {
        int at = 0;
        int written = 0;
        while (at < bytes.Length)
        {
            OperationStatus status = Rune.DecodeFromUtf8(bytes[at..], out Rune rune, out int size);
            if (status == OperationStatus.NeedMoreData && !isLast)
                break;
            bool isWhole = status == OperationStatus.Done;
            if (isWhole && !IsEscaped(rune, isLine: false))
            {
                at += size;
                continue;
            }

            output.Write(bytes[written..at]);
            var escape = new StringBuilder();
            if (isWhole)
            {
                Append(escape, rune);
            }
            else
            {
                foreach (byte one in bytes.Slice(at, size))
                    escape.Append(CultureInfo.InvariantCulture, $"\\x{one:x2}");
            }

            output.Write(Encoding.ASCII.GetBytes(escape.ToString()));
            at += size;
            written = at;
        }

        output.Write(bytes[written..at]);
        return at;
    }

    private static string Escape(string text, bool isLine)
    {
        StringBuilder? escaped = null;
        int at = 0;
        foreach (Rune rune in text.EnumerateRunes())
        {
            if (IsEscaped(rune, isLine))
            {
                escaped ??= new StringBuilder(text, 0, at, text.Length + 16);
                Append(escaped, rune);
            }
            else
            {
                escaped?.Append(rune.ToString());
            }

            at += rune.Utf16SequenceLength;
        }

        return escaped?.ToString() ?? text;
    }

    private static bool IsEscaped(Rune rune, bool isLine) => rune.Value is LineFeed or Tab
        ? isLine
        : Rune.GetUnicodeCategory(rune)
            is UnicodeCategory.Control or UnicodeCategory.Format
            or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator;

    private static void Append(StringBuilder escaped, Rune rune)
    {
        Span<char> units = stackalloc char[2];
        foreach (char unit in units[..rune.EncodeToUtf16(units)])
            escaped.Append(CultureInfo.InvariantCulture, $"\\u{(int)unit:x4}");
    }
}
