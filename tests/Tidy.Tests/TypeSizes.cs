namespace EQueue.Tidy.Tests;

/// <summary>A type stays small enough to be understood: its lines and its fields are counted over all its parts, so that
/// cutting a class into more files gains nothing. What is nested in a type counts among its lines, not among its fields.</summary>
internal static class TypeSizes
{
    public const int MostLines = 600;
    public const int MostFields = 25;

    /// <summary>The types of more than <see cref="MostLines"/> lines.</summary>
    public static IEnumerable<Violation> CheckLengths(IEnumerable<SourceFile> files)
        => Check("type-length", "lines", MostLines, files, part => part.Lines);

    /// <summary>The types of more than <see cref="MostFields"/> fields.</summary>
    public static IEnumerable<Violation> CheckFields(IEnumerable<SourceFile> files)
        => Check("type-fields", "fields", MostFields, files, part => part.Fields.Count);

    private static IEnumerable<Violation> Check(
        string rule, string what, int most, IEnumerable<SourceFile> files, Func<TypePart, int> count)
    {
        IEnumerable<IGrouping<string, TypePart>> types = files.Where(file => file.IsCSharp && file.Room.Length > 0)
            .SelectMany(TypePart.FindIn)
            .GroupBy(part => part.Key);
        foreach (IGrouping<string, TypePart> type in types)
        {
            int total = type.Sum(count);
            if (total <= most)
                continue;
            TypePart first = type.MinBy(part => part.File.Path.Length)!;
            yield return new Violation(
                rule, first.File.Path, first.File.LineAt(first.Start),
                $"{first.RoomAndName} has {total} {what} in {type.Count()} parts, at most {most}");
        }
    }
}
