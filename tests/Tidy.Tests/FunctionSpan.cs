using System.Text.RegularExpressions;

namespace EQueue.Tidy.Tests;

/// <summary>A member with a block body, found by its braces. An expression body is a table, not a function.</summary>
internal sealed partial record FunctionSpan(string Name, int FirstLine, int Lines)
{
    /// <param name="code">C# with comments and strings blanked.</param>
    public static IEnumerable<FunctionSpan> FindIn(string code)
    {
        var open = new Stack<(bool HoldsMembers, string? Function, int Line)>();
        open.Push((true, null, 0));
        int line = 1;
        int headerStart = 0;
        for (int i = 0; i < code.Length; i++)
        {
            switch (code[i])
            {
                case '\n':
                    line++;
                    break;
                case ';':
                    headerStart = i + 1;
                    break;
                case '{':
                    string header = code[headerStart..i];
                    bool isType = open.Peek().HoldsMembers && TypePattern().IsMatch(header);
                    string? function = open.Peek().HoldsMembers && !isType ? NameOf(header) : null;
                    open.Push((isType, function, line));
                    headerStart = i + 1;
                    break;
                case '}' when open.Count > 1:
                    (_, string? closed, int first) = open.Pop();
                    if (closed is not null)
                        yield return new FunctionSpan(closed, first, line - first + 1);
                    headerStart = i + 1;
                    break;
            }
        }
    }

    /// <summary>The function's name, or <see langword="null"/> for an initializer or a property.</summary>
    private static string? NameOf(string header)
    {
        int parenthesis = header.IndexOf('(');
        int equals = header.IndexOf('=');
        if (parenthesis < 0 || (equals >= 0 && equals < parenthesis) || header.Contains("=>", StringComparison.Ordinal))
            return null;
        return NamePattern().Matches(header) is [.., Match last] ? last.Groups[1].Value : null;
    }

    [GeneratedRegex(@"\b(namespace|class|struct|interface|enum|record)\s")]
    private static partial Regex TypePattern();

    [GeneratedRegex(@"(\w+)\s*(<[^()]*>)?\s*\(")]
    private static partial Regex NamePattern();
}
