using System.Text.RegularExpressions;

namespace EQueue.Tidy.Tests;

/// <summary>The lists of folders in docs/architecture.md are true: each room with folders has one, it lists all
/// of them, and the code of a folder names types of those above it alone.</summary>
internal static partial class FolderMap
{
    /// <param name="map">The document.</param>
    /// <param name="files">The repository.</param>
    public static IEnumerable<Violation> Check(SourceFile map, IEnumerable<SourceFile> files)
    {
        SourceFile[] code = [.. files.Where(file => file.IsCSharp && file.Room.Length > 0)];
        HashSet<string> unlisted = [.. code.Where(file => RoomTypes.FolderOf(file.Room, file).Length > 0).Select(file => file.Room)];
        foreach (Match list in ListPattern().Matches(map.Text))
        {
            string room = list.Groups["room"].Value;
            unlisted.Remove(room);
            string[] listed = [.. list.Groups["folder"].Captures.Select(folder => folder.Value)];
            SourceFile[] own = [.. code.Where(file => file.Room == room)];
            string[] folders = [.. own.Select(file => RoomTypes.FolderOf(room, file)).Distinct().Where(folder => folder.Length > 0)];
            int line = map.LineAt(list.Index);
            foreach (string folder in folders.Except(listed))
                yield return new Violation("folder-map", map.Path, line, $"src/{room}/{folder} is not in the list of {room}");
            foreach (string folder in listed.Except(folders))
                yield return new Violation("folder-map", map.Path, line, $"src/{room}/{folder} is listed and does not exist");
            foreach ((string from, string to) in new RoomTypes(room, own).FindNamings().Select(n => (n.From, n.To)).Distinct())
            {
                (int above, int below) = (Array.IndexOf(listed, to), Array.IndexOf(listed, from));
                if (above > below && below >= 0)
                    yield return new Violation("folder-map", map.Path, line, $"{from} names types of {to}, which stands below it");
            }
        }

        foreach (string room in unlisted)
            yield return new Violation("folder-map", map.Path, 1, $"src/{room} has no list of its folders");
    }

    [GeneratedRegex(@"^src/(?<room>\w+)\n(  (?<folder>[\w/]+) .*\n)+", RegexOptions.Multiline | RegexOptions.ExplicitCapture)]
    private static partial Regex ListPattern();
}
