using System.Text.RegularExpressions;

namespace EQueue.Tidy.Tests;

/// <summary>Finds the places at which a file names a type of its own project: in a declaration, behind new, as the owner of a
/// static member, as a type argument. A property that is called as its type is not meant.</summary>
internal sealed partial class TypeNames
{
    /// <summary>Words behind which a type may stand; behind any other word stands a name.</summary>
    private static readonly HashSet<string> BeforeTypes = new(StringComparer.Ordinal)
    {
        "new", "is", "as", "case", "not", "and", "or", "out", "ref", "in", "readonly", "static", "public", "private",
        "internal", "protected", "sealed", "override", "virtual", "abstract", "async", "extern", "unsafe", "const", "using",
        "return", "throw", "await", "event", "params", "this", "scoped", "required", "operator", "volatile", "else", "when",
        "fixed", "file", "delegate", "explicit", "implicit", "init", "get", "set", "yield", "with", "switch", "default",
    };

    /// <summary>Words that follow a value, so that the word before need not be a type.</summary>
    private static readonly HashSet<string> BehindValues = new(StringComparer.Ordinal)
    {
        "is", "as", "and", "or", "when", "switch", "in", "with", "where", "select", "orderby", "else",
    };

    private static readonly HashSet<string> Declaring = new(StringComparer.Ordinal)
    {
        "class", "struct", "interface", "enum", "record", "namespace",
    };

    private readonly Match[] _tokens;

    public TypeNames(SourceFile file) => _tokens = TokenPattern().Matches(file.Code).ToArray<Match>();

    /// <summary>The names that are declared as members, parameters or methods between two places.</summary>
    public IEnumerable<string> DeclaredBetween(int start, int end) => Enumerable.Range(0, _tokens.Length)
        .Where(i => _tokens[i].Index >= start && _tokens[i].Index < end && IsDeclared(i))
        .Select(i => _tokens[i].Value);

    /// <summary>The places that name one of <paramref name="types"/> (names with their numbers of type parameters).</summary>
    /// <param name="declared">The members of the type around a place: by these names it means its own.</param>
    public IEnumerable<(string Name, int Index)> Find(
        IReadOnlyDictionary<string, int[]> types, Func<int, IReadOnlySet<string>> declared)
    {
        for (int i = 0; i < _tokens.Length; i++)
        {
            string name = _tokens[i].Value;
            if (types.TryGetValue(name, out int[]? arities) && IsType(i, arities, declared))
                yield return (name, _tokens[i].Index);
        }
    }

    private bool IsType(int i, int[] arities, Func<int, IReadOnlySet<string>> declared)
    {
        string before = At(i - 1);
        string behind = At(i + 1);
        if (before == "." || Declaring.Contains(before) || (IsWord(before) && !BeforeTypes.Contains(before)))
            return false;
        if (IsWord(behind) && !BehindValues.Contains(behind))
            return arities.Contains(0);
        bool touches = i + 1 < _tokens.Length && _tokens[i + 1].Index == _tokens[i].Index + _tokens[i].Length;
        switch (behind)
        {
            case "<" when touches:
                return arities.Any(arity => arity > 0);
            case "=" or "==":
                return false;
            case "(" when before is not ("new" or ":"):
                return false;
            case ":":
                return before == "case";
            case "?":
                return touches && At(i + 2) is not ("." or "[");
            case "[" when At(i + 2) is not ("]" or ",") && before != "new":
                return false;
            default:
                return arities.Contains(0) && !declared(_tokens[i].Index).Contains(_tokens[i].Value);
        }
    }

    /// <summary>Whether a member's name stands here, behind its type.</summary>
    private bool IsDeclared(int i)
    {
        string before = At(i - 1);
        bool isBehindType = before is ">" or "?" or "]" or ")" || (IsWord(before) && !BeforeTypes.Contains(before));
        return isBehindType && char.IsUpper(_tokens[i].Value[0]) && !Declaring.Contains(before)
            && At(i + 1) is "{" or "=>" or ";" or "=" or "(" or "," or ")" or "<";
    }

    private string At(int i) => i >= 0 && i < _tokens.Length ? _tokens[i].Value : "";

    private static bool IsWord(string token) => token.Length > 0 && (char.IsLetter(token[0]) || token[0] is '_' or '@');

    [GeneratedRegex(@"@?[A-Za-z_]\w*|=>|==|\S")]
    private static partial Regex TokenPattern();
}
