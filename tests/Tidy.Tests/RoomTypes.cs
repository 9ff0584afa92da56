namespace EQueue.Tidy.Tests;

/// <summary>The types of one project and the folders they live in; finds which folder's code names which type.</summary>
internal sealed class RoomTypes
{
    private readonly string _room;
    private readonly SourceFile[] _files;
    private readonly TypePart[] _parts;
    private readonly Dictionary<string, string> _folders;
    private readonly ILookup<string, string> _foldersByName;
    private readonly Dictionary<string, int[]> _arities;
    private readonly Dictionary<SourceFile, TypeNames> _names;
    private readonly Dictionary<string, HashSet<string>> _members;

    public RoomTypes(string room, IEnumerable<SourceFile> files)
    {
        _room = room;
        _files = [.. files];
        TypePart[] all = [.. _files.SelectMany(TypePart.FindIn)];
        _parts = [.. all.Where(part => !part.IsNested)];
        _folders = _parts.GroupBy(part => part.Key).ToDictionary(type => type.Key, HomeOf, StringComparer.Ordinal);
        _foldersByName = _parts.DistinctBy(part => part.Key).ToLookup(part => part.Name, part => _folders[part.Key]);
        _arities = _parts.GroupBy(part => part.Name).ToDictionary(
            type => type.Key, type => type.Select(part => part.Arity).ToArray(), StringComparer.Ordinal);
        _names = _files.ToDictionary(file => file, file => new TypeNames(file));
        _members = _parts.GroupBy(part => part.Key).ToDictionary(
            type => type.Key, type => type.SelectMany(MembersOf).ToHashSet(StringComparer.Ordinal), StringComparer.Ordinal);
        foreach (TypePart nested in all.Where(part => part.IsNested))
            _members[OuterOf(nested).Key].Add(nested.Name.Split('.')[^1]);
    }

    /// <summary>Each place at which code of one folder names a type of another folder.</summary>
    public IEnumerable<TypeNaming> FindNamings()
    {
        foreach (SourceFile file in _files)
        {
            TypePart[] parts = [.. _parts.Where(part => part.File == file)];
            foreach ((string name, int index) in _names[file].Find(_arities, at => DeclaredAround(parts, at)))
            {
                TypePart? around = PartAt(parts, index);
                if (around?.Kind == "enum" && index > around.Start)
                    continue;
                string from = around is null ? FolderOf(_room, file) : _folders[around.Key];
                string[] targets = [.. _foldersByName[name]];
                if (targets.Contains(from))
                    continue;
                foreach (string to in targets)
                    yield return new TypeNaming(from, to, name, file, file.LineAt(index));
            }
        }
    }

    private static TypePart? PartAt(TypePart[] parts, int index)
        => parts.FirstOrDefault(part => part.Start <= index && index < part.End);

    private HashSet<string> DeclaredAround(TypePart[] parts, int index)
        => PartAt(parts, index) is { } part ? _members[part.Key] : [];

    private IEnumerable<string> MembersOf(TypePart part) => _names[part.File].DeclaredBetween(part.Start, part.End);

    private TypePart OuterOf(TypePart nested)
        => PartAt([.. _parts.Where(part => part.File == nested.File)], nested.Start)!;

    /// <summary>The folder of a type; with parts in several folders it is the one nearest to the root.</summary>
    private string HomeOf(IEnumerable<TypePart> parts)
        => parts.Select(part => FolderOf(_room, part.File)).OrderBy(folder => folder.Length).First();

    /// <summary>The folder below the project; empty for a file at its root.</summary>
    public static string FolderOf(string room, SourceFile file)
    {
        string folder = file.Path[..file.Path.LastIndexOf('/')];
        return folder.Length <= $"src/{room}".Length ? "" : folder[$"src/{room}/".Length..];
    }
}

/// <summary>A place at which the code of one folder names a type of another.</summary>
internal sealed record TypeNaming(string From, string To, string Type, SourceFile File, int Line);
