using System.Text.RegularExpressions;

namespace EQueue.Tidy.Tests;

/// <summary>The rules that look at one file at a time.</summary>
internal static partial class Rules
{
    public const int MostLinesOfAFile = 400;
    public const int MostLinesOfAFunction = 70;
    public const int MostColumns = 120;

    private static readonly string[] Libraries = ["Protocol", "Remoting", "MessageStore", "Client", "Broker"];

    /// <summary>Every rule by the name that exceptions.txt uses.</summary>
    public static IReadOnlyDictionary<string, Func<SourceFile, IEnumerable<Violation>>> All { get; } =
        new Dictionary<string, Func<SourceFile, IEnumerable<Violation>>>(StringComparer.Ordinal)
        {
            ["banned-word"] = BannedWords,
            ["file-length"] = FileLength,
            ["function-length"] = FunctionLength,
            ["line-length"] = LineLength,
            ["region"] = file => InCode(file, "region", file.IsCSharp, RegionPattern(), "no #region"),
            ["clock"] = file => InCode(
                file, "clock", InSource(file), ClockPattern(), "time comes from TimeProvider"),
            ["console"] = file => InCode(
                file, "console", file.IsCSharp && Libraries.Contains(file.Room), ConsolePattern(),
                "a library speaks through ILogger alone"),
            ["serilog"] = file => InCode(
                file, "serilog", file.IsCSharp && file.Path != "src/Server/Program.cs", SerilogPattern(),
                "Serilog appears in src/Server/Program.cs alone"),
            ["open-end"] = OpenEnds,
            ["stub"] = file => InCode(file, "stub", InSource(file), StubPattern(), "no stub is left behind"),
            ["async-void"] = file => InCode(
                file, "async-void", InSource(file), AsyncVoidPattern(), "its failure would end the process"),
            ["sleep"] = file => InCode(
                file, "sleep", file.IsCSharp && file.IsUnder("tests") && file.Name != "Eventually.cs", SleepPattern(),
                "await a signal or Eventually instead"),
            ["machine-path"] = MachinePaths,
            ["body-on-its-line"] = file => InCode(
                file, "body-on-its-line", InHouse(file), OneLinePattern(), "the body stands on a line of its own"),
            ["braces"] = file => InCode(
                file, "braces", InHouse(file), BracesPattern(), "a body of one line has no braces"),
        };

    private static bool InHouse(SourceFile file) => file.IsCSharp && file.IsUnder("src", "tests", "perf");

    private static bool InSource(SourceFile file) => file.IsCSharp && file.IsUnder("src");

    private static IEnumerable<Violation> InCode(
        SourceFile file, string rule, bool applies, Regex pattern, string why)
    {
        if (!applies)
            yield break;
        foreach (Match match in pattern.Matches(file.Code))
            yield return new Violation(rule, file.Path, file.LineAt(match.Index), $"{match.Value.Trim()}: {why}");
    }

    private static IEnumerable<Violation> BannedWords(SourceFile file)
    {
        if (!file.IsUnder("src", "tests", "perf"))
            yield break;
        string name = Path.GetFileNameWithoutExtension(file.Name);
        if (FindBannedWord(name) is { } word)
            yield return new Violation("banned-word", file.Path, 1, $"the file's name holds '{word}'");
        if (!file.IsCSharp)
            yield break;
        foreach (Match match in TypePattern().Matches(file.Code))
        {
            if (FindBannedWord(match.Groups["name"].Value) is { } found)
            {
                yield return new Violation(
                    "banned-word", file.Path, file.LineAt(match.Index),
                    $"type {match.Groups["name"].Value} holds '{found}'");
            }
        }
    }

    private static string? FindBannedWord(string name)
    {
        if (name.StartsWith("Default", StringComparison.Ordinal))
            return "Default";
        string[] words = [.. WordPattern().Matches(name).Select(match => match.Value)];
        if (words is [.., _, "Data"])
            return "Data";
        return words.FirstOrDefault(word => word is "Partition" or "Partitions" or "Chunk" or "Chunks" or "Manager"
            or "Helper" or "Helpers" or "Util" or "Utils" or "Utility" or "Utilities" or "Info" or "Impl" or "Common");
    }

    private static IEnumerable<Violation> FileLength(SourceFile file)
    {
        int lines = file.Lines.Length - 1;
        if (InSource(file) && lines > MostLinesOfAFile)
            yield return new Violation("file-length", file.Path, lines, $"{lines} lines, at most {MostLinesOfAFile}");
    }

    private static IEnumerable<Violation> FunctionLength(SourceFile file)
    {
        if (!InSource(file))
            yield break;
        foreach (FunctionSpan function in FunctionSpan.FindIn(file.Code))
        {
            if (function.Lines > MostLinesOfAFunction)
            {
                yield return new Violation(
                    "function-length", file.Path, function.FirstLine,
                    $"{function.Name} has {function.Lines} lines, at most {MostLinesOfAFunction}");
            }
        }
    }

    private static IEnumerable<Violation> LineLength(SourceFile file)
    {
        if (!InSource(file))
            yield break;
        string[] lines = file.Lines;
        for (int i = 0; i < lines.Length; i++)
        {
            if (lines[i].Length > MostColumns)
            {
                yield return new Violation(
                    "line-length", file.Path, i + 1, $"{lines[i].Length} columns, at most {MostColumns}");
            }
        }
    }

    private static IEnumerable<Violation> OpenEnds(SourceFile file)
    {
        foreach (Match match in OpenEndPattern().Matches(file.Text))
            yield return new Violation("open-end", file.Path, file.LineAt(match.Index), $"{match.Value}: do it or drop it");
    }

    private static IEnumerable<Violation> MachinePaths(SourceFile file)
    {
        foreach (Match match in MachinePathPattern().Matches(file.Text))
        {
            yield return new Violation(
                "machine-path", file.Path, file.LineAt(match.Index), $"{match.Value}: true on one machine only");
        }

        if (string.Equals(file.Name, "nuget.config", StringComparison.OrdinalIgnoreCase))
            yield return new Violation("machine-path", file.Path, 1, "where packages come from is each machine's own");
    }

    [GeneratedRegex(@"^[ \t]*#[ \t]*region\b", RegexOptions.Multiline)]
    private static partial Regex RegionPattern();

    [GeneratedRegex(@"\bDateTime(Offset)?\s*\.\s*(Now|UtcNow|Today)\b")]
    private static partial Regex ClockPattern();

    [GeneratedRegex(@"\bConsole\s*\.\s*\w+")]
    private static partial Regex ConsolePattern();

    [GeneratedRegex(@"\bSerilog\b")]
    private static partial Regex SerilogPattern();

    [GeneratedRegex(@"\bNotImplementedException\b")]
    private static partial Regex StubPattern();

    [GeneratedRegex(@"\basync\s+void\b")]
    private static partial Regex AsyncVoidPattern();

    [GeneratedRegex(@"\b(Thread\s*\.\s*Sleep|Task\s*\.\s*Delay)\s*\(")]
    private static partial Regex SleepPattern();

    [GeneratedRegex(@"\b(class|struct|interface|enum|record(\s+struct|\s+class)?)\s+(?<name>[A-Z]\w*)")]
    private static partial Regex TypePattern();

    [GeneratedRegex(@"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")]
    private static partial Regex WordPattern();

    /// <summary>A statement's head, its condition in parentheses that match.</summary>
    private const string Head = @"^(?<in>[ \t]*)(?:if|foreach|await foreach|while|for|lock|using) "
        + @"\((?>[^()\n]+|(?<open>\()|(?<-open>\)))*(?(open)(?!))\)";

    [GeneratedRegex(Head + @"[ \t]+[^\s{/;)&|?.:,=][^\n]*;[ \t]*$|^[ \t]*else (?!if\b)[^\s{][^\n]*;[ \t]*$", RegexOptions.Multiline)]
    private static partial Regex OneLinePattern();

    /// <summary>Not those of a chain with else, nor around a statement that has a body itself or declares
    /// something.</summary>
    [GeneratedRegex(
        Head + @"\n\k<in>\{\n[ \t]*(?!(?:if|for|foreach|while|lock|using|fixed|do|try|switch|await|const|static)\b)(?![\w<>\[\],.?]+ [\w@]+(?: =|;))"
        + @"[^\s][^\n]*;\n\k<in>\}(?!\s*else\b)",
        RegexOptions.Multiline)]
    private static partial Regex BracesPattern();

    [GeneratedRegex(@"\b(TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b")]
    private static partial Regex OpenEndPattern();

    [GeneratedRegex(@"(?<![\w.*$}])/(work|root|home/\w+|Users/\w+)/|\b[A-Z]:\\\\?Users\\")]
    private static partial Regex MachinePathPattern();
}
