namespace EQueue.Tidy.Tests;

/// <summary>A type stays small enough to be understood: its lines and its fields are counted over all its parts, so that
/// cutting a class into more files gains nothing. What is nested in a type counts among its lines, not among its fields.</summary>
internal static class TypeSizes
{
    public const int MostLines = 600;
    public const int MostFields = 25;

    /// <summary>Types that are too long today: take one out when you mend it. A type that is short must not stand here.</summary>
    private static readonly string[] Long =
    [
    ];

    /// <summary>Types with too many fields today, in the same way.</summary>
    private static readonly string[] Wide =
    [
    ];

    public static IEnumerable<Violation> CheckLengths(IEnumerable<SourceFile> files) => CheckLengths(files, Long);

    public static IEnumerable<Violation> CheckFields(IEnumerable<SourceFile> files) => CheckFields(files, Wide);

    /// <summary>The types of more than <see cref="MostLines"/> lines but those of <paramref name="excused"/>, and each of
    /// these that needs no excuse.</summary>
    public static IEnumerable<Violation> CheckLengths(IEnumerable<SourceFile> files, IReadOnlyCollection<string> excused)
        => Check("type-length", "lines", MostLines, files, part => part.Lines, excused);

    /// <summary>The same for <see cref="MostFields"/> fields.</summary>
    public static IEnumerable<Violation> CheckFields(IEnumerable<SourceFile> files, IReadOnlyCollection<string> excused)
        => Check("type-fields", "fields", MostFields, files, part => part.Fields.Count, excused);

    private static IEnumerable<Violation> Check(
        string rule, string what, int most, IEnumerable<SourceFile> files, Func<TypePart, int> count,
        IReadOnlyCollection<string> excused)
    {
        HashSet<string> needless = [.. excused];
        IEnumerable<IGrouping<string, TypePart>> types = files.Where(file => file.IsCSharp && file.Room.Length > 0)
            .SelectMany(TypePart.FindIn)
            .GroupBy(part => part.Key);
        foreach (IGrouping<string, TypePart> type in types)
        {
            int total = type.Sum(count);
            TypePart first = type.MinBy(part => part.File.Path.Length)!;
            if (total <= most || needless.Remove(first.RoomAndName) || excused.Contains(first.RoomAndName))
                continue;
            yield return new Violation(
                rule, first.File.Path, first.File.LineAt(first.Start),
                $"{first.RoomAndName} has {total} {what} in {type.Count()} parts, at most {most}");
        }

        foreach (string name in needless)
            yield return new Violation(rule, $"src/{name.Split('.')[0]}", 1, $"{name} is in order: take it out of the list");
    }
}
