using System.Text.RegularExpressions;

namespace EQueue.Tidy.Tests;

/// <summary>A store that leads derives nothing from, and removes nothing by, what is not committed and durable here:
/// whatever gives names to files or takes files away passes the gate, or stands here with the reason.</summary>
internal static partial class Gates
{
    private static readonly Dictionary<string, string> Free = new(StringComparer.Ordinal)
    {
        ["src/MessageStore/Log/SegmentPreparer.cs"] = "a segment before it has a name",
        ["src/MessageStore/Log/SegmentWriter.cs"] = "the name of the segment that is written next",
        ["src/MessageStore/Upkeep/SealedIndexes.cs"] = "the index of a segment that the cleaner has just taken out",
    };

    public static IEnumerable<Violation> Check(IEnumerable<SourceFile> files)
    {
        foreach (SourceFile file in files.Where(IsOfALeader))
        {
            bool isGated = GatePattern().IsMatch(file.Code);
            bool isFree = Free.ContainsKey(file.Path);
            Match change = ChangePattern().Match(file.Code);
            if (change.Success && !isGated && !isFree)
            {
                yield return new Violation(
                    "gate", file.Path, file.LineAt(change.Index), $"{change.Value.Trim()}: nothing waits at TryMakeCommitted");
            }

            if (isFree && (!change.Success || isGated))
                yield return new Violation("gate", file.Path, 1, "it needs no exception");
        }
    }

    /// <summary>Followers and openings have rules of their own; formats write what others ask for.</summary>
    private static bool IsOfALeader(SourceFile file) =>
        file.IsCSharp && (file.IsUnder("src/MessageStore/Log", "src/MessageStore/Upkeep")
            || file.Path.StartsWith("src/MessageStore/QueueStore", StringComparison.Ordinal));

    [GeneratedRegex(@"\.(Rename|Delete)\(|new (SnapshotWriter|SealedIndexWriter)\(")]
    private static partial Regex ChangePattern();

    [GeneratedRegex(@"\bTryMake(State)?Committed\(LogCleaner|\bTryMakeStateCommitted\(CommitWait")]
    private static partial Regex GatePattern();
}
