using System.Text.RegularExpressions;

namespace EQueue.Tidy.Tests;

/// <summary>One Log.cs in each room that logs; its event ids lie in the room's range and none is used twice.</summary>
internal static partial class LogIds
{
    private static readonly Dictionary<string, int> FirstIds = new(StringComparer.Ordinal)
    {
        ["Remoting"] = 1000,
        ["MessageStore"] = 2000,
        ["Broker"] = 3000,
        ["Client"] = 5000,
        ["Server"] = 6000,
        ["Cluster"] = 7000,
    };

    public static IEnumerable<Violation> Check(IEnumerable<SourceFile> files)
    {
        var seen = new Dictionary<int, string>();
        foreach (SourceFile file in files.Where(file => file.IsCSharp && file.Room.Length > 0))
        {
            foreach (Match match in MessagePattern().Matches(file.Code))
            {
                int line = file.LineAt(match.Index);
                if (!IsLogFile(file))
                    yield return new Violation("log-ids", file.Path, line, $"log messages stand in src/{file.Room}/Log.cs");
                if (!match.Groups["id"].Success)
                {
                    yield return new Violation("log-ids", file.Path, line, "a log message needs an event id");
                    continue;
                }

                int id = int.Parse(match.Groups["id"].Value);
                if (!FirstIds.TryGetValue(file.Room, out int first) || id < first || id >= first + 1000)
                    yield return new Violation("log-ids", file.Path, line, $"id {id} is outside the range of {file.Room}");
                if (!seen.TryAdd(id, file.Path))
                    yield return new Violation("log-ids", file.Path, line, $"id {id} is used in {seen[id]} too");
            }
        }
    }

    /// <summary>Log.cs, or a part of that class cut off by concern: Log.Recovery.cs.</summary>
    private static bool IsLogFile(SourceFile file)
        => file.Path.StartsWith($"src/{file.Room}/Log.", StringComparison.Ordinal) && file.Path.Count(c => c == '/') == 2;

    [GeneratedRegex(@"\[LoggerMessage\(\s*((EventId\s*=\s*)?(?<id>\d+))?")]
    private static partial Regex MessagePattern();
}
