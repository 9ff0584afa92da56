namespace EQueue.Tidy.Tests;

/// <summary>The places that may break a rule: exceptions.txt, one a line, <c>rule | path | reason</c>.</summary>
internal sealed class Exceptions
{
    public const int Most = 10;

    private Exceptions(IReadOnlyList<Entry> entries) => Entries = entries;

    public static Exceptions OfRepository { get; } = Parse(
        Repository.Files.Single(file => file.Path == "tests/Tidy.Tests/exceptions.txt").Text);

    public IReadOnlyList<Entry> Entries { get; }

    public static Exceptions Parse(string text) => new(
    [
        .. text.Split('\n')
            .Select(line => line.Trim())
            .Where(line => line.Length > 0 && line[0] != '#')
            .Select(line => line.Split('|', 3, StringSplitOptions.TrimEntries))
            .Select(parts => parts.Length == 3 && parts.All(part => part.Length > 0)
                ? new Entry(parts[0], parts[1], parts[2])
                : throw new FormatException($"Expected 'rule | path | reason', found '{string.Join(" | ", parts)}'.")),
    ]);

    public bool Covers(Violation violation)
        => Entries.Any(entry => entry.Rule == violation.Rule && entry.Path == violation.Path);

    internal sealed record Entry(string Rule, string Path, string Reason);
}
