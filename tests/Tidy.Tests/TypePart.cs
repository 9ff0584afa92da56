using System.Text.RegularExpressions;

namespace EQueue.Tidy.Tests;

/// <summary>One part of a type, found by its head and braces; a nested type is found as a type of its own.</summary>
/// <param name="Name">The type's name, behind the names of the types around it: <c>Outer.Inner</c>.</param>
/// <param name="Arity">How many type parameters the head names.</param>
/// <param name="Start">Where the head begins in the file's code.</param>
/// <param name="End">Where the part ends, behind its brace or semicolon.</param>
/// <param name="Fields">The names of the fields that the part declares itself. Constants, also of the form
/// <c>static readonly</c>, and properties are none.</param>
internal sealed partial record TypePart(
    SourceFile File, string Kind, string Name, int Arity, int Start, int End, IReadOnlyList<string> Fields)
{
    /// <summary>What all parts of one type have in common, and no other type.</summary>
    public string Key => $"{File.Room}: {NamespacePattern().Match(File.Code).Groups["name"].Value}.{Name}`{Arity}";

    /// <summary>The type as it is called in violations: <c>Client.FetchSession</c>.</summary>
    public string RoomAndName => $"{File.Room}.{Name}";

    public bool IsNested => Name.Contains('.', StringComparison.Ordinal);

    /// <summary>The lines from the head to the closing brace.</summary>
    public int Lines => File.LineAt(End - 1) - File.LineAt(Start) + 1;

    public static IEnumerable<TypePart> FindIn(SourceFile file)
    {
        string code = file.Code;
        var open = new Stack<Block?>();
        int member = 0;
        for (int i = 0; i < code.Length; i++)
        {
            Block? around = open.Count == 0 ? Block.OfFile : open.Peek();
            switch (code[i])
            {
                case ';' when around is not null:
                    Match whole = HeadPattern().Match(code, member, i - member);
                    if (whole.Success)
                        yield return Make(file, whole, around, i + 1, []);
                    else
                        around.Fields.AddRange(FieldsOf(code[member..i]));
                    member = i + 1;
                    break;
                case '{':
                    Match head = around is null ? Match.Empty : HeadPattern().Match(code, member, i - member);
                    if (!head.Success && code.AsSpan(member, i - member).Contains('='))
                        around?.Fields.AddRange(FieldsOf(code[member..i]));
                    open.Push(head.Success ? new Block(head, around!, []) : null);
                    member = i + 1;
                    break;
                case '}' when open.Count > 0:
                    Block? closed = open.Pop();
                    if (closed is not null)
                        yield return Make(file, closed.Head!, closed.Around!, i + 1, closed.Fields);
                    member = i + 1;
                    break;
            }
        }
    }

    private static TypePart Make(SourceFile file, Match head, Block around, int end, IReadOnlyList<string> fields)
    {
        string name = head.Groups["name"].Value;
        string kind = head.Groups["kind"].Value;
        Group parameters = head.Groups["parameters"];
        int arity = parameters.Success ? parameters.Value.Count(c => c == ',') + 1 : 0;
        string full = around.Name is { } outer ? $"{outer}.{name}" : name;
        return new TypePart(file, kind, full, arity, head.Groups["kind"].Index, end, kind == "enum" ? [] : fields);
    }

    /// <summary>The fields of one declaration; none when it is a method, a property or a constant.</summary>
    /// <param name="declaration">The code from the end of the member before it to a semicolon or an opening brace.</param>
    private static IEnumerable<string> FieldsOf(string declaration)
    {
        string text = AttributePattern().Replace(declaration, "");
        int equals = text.IndexOf('=', StringComparison.Ordinal);
        if (equals >= 0 && equals + 1 < text.Length && text[equals + 1] == '>')
            return [];
        string left = InAngles().Replace(equals < 0 ? text : text[..equals], "");
        if (left.Count(c => c == '(') != left.Count(c => c == ')') || NoField().IsMatch(left))
            return [];
        Match field = FieldPattern().Match(left);
        return field.Success ? field.Groups["name"].Captures.Select(name => name.Value) : [];
    }

    /// <summary>What a brace opened: a type with its fields so far, or the file itself.</summary>
    private sealed record Block(Match? Head, Block? Around, List<string> Fields)
    {
        public static Block OfFile => new(null, null, []);

        public string? Name => Head is null ? null
            : Around?.Name is { } outer ? $"{outer}.{Head.Groups["name"].Value}" : Head.Groups["name"].Value;
    }

    [GeneratedRegex(
        @"\b((?<kind>class|struct|interface|enum|record(\s+struct|\s+class)?)\s+|(?<kind>delegate)\s+[^;(]*\b)"
        + @"(?<name>[A-Z]\w*)\s*(<(?<parameters>[^<>]*)>)?\s*(?=[:({;\s]|$)")]
    private static partial Regex HeadPattern();

    [GeneratedRegex(@"^namespace\s+(?<name>[\w.]+)", RegexOptions.Multiline)]
    private static partial Regex NamespacePattern();

    [GeneratedRegex(@"^\s*(\[[^\]]*\]\s*)+")]
    private static partial Regex AttributePattern();

    [GeneratedRegex(@"<[^<>]*(<[^<>]*(<[^<>]*>[^<>]*)*>[^<>]*)*>")]
    private static partial Regex InAngles();

    [GeneratedRegex(@"\b(const|static\s+readonly|where|operator|using|namespace|return)\b")]
    private static partial Regex NoField();

    /// <summary>Words and a type, then the names: <c>private readonly long _a, _b</c>.</summary>
    [GeneratedRegex(@"[\w>\])?*]\s+(?<name>@?\w+)(\s*,\s*(?<name>@?\w+))*\s*$")]
    private static partial Regex FieldPattern();
}
