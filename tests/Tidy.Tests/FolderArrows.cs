namespace EQueue.Tidy.Tests;

/// <summary>The folders of one project form no circle: when the code of one names a type of another, no way of such names
/// leads back. All parts of a class count together. The files at the root of a project are its door, which names all and is
/// named by all; they do not count.</summary>
internal static class FolderArrows
{
    /// <summary>Rooms whose folders form a circle today: take a room out when you order it. A room that is in order must
    /// not stand here.</summary>
    private static readonly string[] Unordered = [];

    public static IEnumerable<Violation> Check(IEnumerable<SourceFile> files) => Check(files, Unordered);

    /// <summary>A violation for each two folders of a circle: the types that the first names of the second, and where; and
    /// one for each room of <paramref name="unordered"/> without a circle.</summary>
    public static IEnumerable<Violation> Check(IEnumerable<SourceFile> files, IReadOnlyCollection<string> unordered)
    {
        foreach (IGrouping<string, SourceFile> room in files.Where(IsCounted).GroupBy(file => file.Room))
        {
            Violation[] found = [.. CheckRoom(room)];
            if (!unordered.Contains(room.Key))
            {
                foreach (Violation violation in found)
                    yield return violation;
            }
            else if (found.Length == 0)
            {
                yield return new Violation("folder-arrows", $"src/{room.Key}", 1, "in order: take it out of Unordered");
            }
        }
    }

    private static bool IsCounted(SourceFile file) => file.IsCSharp && file.Room.Length > 0;

    private static IEnumerable<Violation> CheckRoom(IGrouping<string, SourceFile> room)
    {
        ILookup<(string From, string To), TypeNaming> arrows = new RoomTypes(room.Key, room).FindNamings()
            .Where(naming => naming.From.Length > 0 && naming.To.Length > 0)
            .ToLookup(naming => (naming.From, naming.To));
        ILookup<string, string> ways = arrows.ToLookup(arrow => arrow.Key.From, arrow => arrow.Key.To);
        foreach (IGrouping<(string From, string To), TypeNaming> arrow in arrows.OrderBy(arrow => arrow.Key))
        {
            string[] back = FindWay(ways, arrow.Key.To, arrow.Key.From);
            if (back.Length == 0)
                continue;
            yield return new Violation(
                "folder-arrows", arrow.First().File.Path, arrow.First().Line,
                $"{arrow.Key.From} names types of {arrow.Key.To}, and a way leads back ({string.Join(" > ", back)}): "
                + string.Join("; ", arrow.GroupBy(naming => naming.Type).Select(Describe)));
        }
    }

    /// <summary>A type and where it is named: <c>Segment (KeySkipper.cs 13 22, SegmentKeys.cs 42)</c>.</summary>
    private static string Describe(IGrouping<string, TypeNaming> type)
    {
        IEnumerable<string> places = type.GroupBy(naming => naming.File.Name)
            .Select(file => $"{file.Key} {string.Join(' ', file.Select(naming => naming.Line).Distinct())}");
        return $"{type.Key} ({string.Join(", ", places)})";
    }

    /// <summary>The shortest way from one folder to another, both included; empty when there is none.</summary>
    private static string[] FindWay(ILookup<string, string> ways, string from, string to)
    {
        var reached = new Dictionary<string, string[]>(StringComparer.Ordinal) { [from] = [from] };
        var next = new Queue<string>(reached.Keys);
        while (next.TryDequeue(out string? at) && at != to)
        {
            foreach (string folder in ways[at])
            {
                if (reached.TryAdd(folder, [.. reached[at], folder]))
                    next.Enqueue(folder);
            }
        }

        return reached.GetValueOrDefault(to, []);
    }
}
