using System.Text.RegularExpressions;

namespace EQueue.Support;

/// <summary>A text that a program may print: a string of the source, put together where it is cut.</summary>
/// <param name="File">Its file, from the checkout's root.</param>
/// <param name="Text">As it is written, <c>{nameof(A.B)}</c> as <c>B</c>; other values stand in their braces.</param>
public sealed partial record SourceText(string File, string Text)
{
    /// <summary>All texts of some rooms below <c>src</c>.</summary>
    public static IReadOnlyList<SourceText> Of(params string[] rooms) =>
    [
        .. rooms.SelectMany(room => Directory.EnumerateFiles(
                Path.Combine(ProgramFiles.Root, "src", room), "*.cs", SearchOption.AllDirectories).Order())
            .SelectMany(path => In(System.IO.File.ReadAllText(path))
                .Select(text => new SourceText(Path.GetRelativePath(ProgramFiles.Root, path), text))),
    ];

    /// <summary>The texts of a source file.</summary>
    public static IEnumerable<string> In(string source)
    {
        string code = QuoteCharacter().Replace(Comment().Replace(source, ""), "' '");
        foreach (Match cut in Cut().Matches(code))
        {
            string text = string.Concat(Piece().Matches(cut.Value).Select(piece => piece.Groups["text"].Value));
            yield return NameOf().Replace(text, "${name}");
        }
    }

    [GeneratedRegex(@"^[ \t]*//.*$", RegexOptions.Multiline)]
    private static partial Regex Comment();

    [GeneratedRegex("""'\\?"'""")]
    private static partial Regex QuoteCharacter();

    [GeneratedRegex("""\$?"(?:[^"\\\n]|\\.)*"(?:\s*\+\s*\$?"(?:[^"\\\n]|\\.)*")*""")]
    private static partial Regex Cut();

    [GeneratedRegex(@"""(?<text>(?:[^""\\\n]|\\.)*)""")]
    private static partial Regex Piece();

    [GeneratedRegex(@"\{nameof\((?:\w+\.)*(?<name>\w+)\)\}")]
    private static partial Regex NameOf();
}
