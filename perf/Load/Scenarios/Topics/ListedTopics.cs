using System.Text.Json;
using EQueue.Load.Measuring;

namespace EQueue.Load.Scenarios;

/// <summary>What the lines of <c>equeue topic list --json</c> or <c>describe --json</c> name.</summary>
internal static class ListedTopics
{
    /// <summary>
    /// Compares the lines with the topics that were made: each once, in order, with as many queues as it was given.
    /// </summary>
    /// <param name="wanted">Names in ordinal order.</param>
    public static CheckResult Judge(
        IReadOnlyList<string> lines, IReadOnlyList<string> wanted, int queues, Faults faults)
    {
        var found = lines.Select(Read).ToList();
        Inject(found, faults);
        var expected = wanted.ToHashSet(StringComparer.Ordinal);
        var seen = new HashSet<string>(StringComparer.Ordinal);
        long duplicated = 0, reordered = 0, damaged = 0;
        string last = string.Empty;
        foreach ((string name, int count) in found)
        {
            if (!expected.Contains(name) || count != queues)
                damaged++;
            else if (!seen.Add(name))
                duplicated++;
            else if (string.CompareOrdinal(name, last) < 0)
                reordered++;
            last = name;
        }

        return new CheckResult(expected.Count - seen.Count, duplicated, reordered, damaged);
    }

    private static (string Name, int Queues) Read(string line)
    {
        using var document = JsonDocument.Parse(line);
        JsonElement root = document.RootElement;
        int queues = root.TryGetProperty("queues", out JsonElement described)
            ? described.GetArrayLength()
            : root.GetProperty("queueCount").GetInt32();
        return (root.GetProperty("topic").GetString()!, queues);
    }

    /// <summary>In the middle: a name lost, one told twice, one told after the next one.</summary>
    private static void Inject(List<(string Name, int Queues)> found, Faults faults)
    {
        int at = found.Count / 2;
        if (faults.HasFlag(Faults.Missing))
            found.RemoveAt(at);
        if (faults.HasFlag(Faults.Duplicate))
            found.Insert(at, found[at]);
        if (faults.HasFlag(Faults.Reorder))
            (found[at - 1], found[at - 2]) = (found[at - 2], found[at - 1]);
    }
}
