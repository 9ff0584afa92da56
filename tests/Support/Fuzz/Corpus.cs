namespace EQueue.Support.Fuzz;

/// <summary>Good encodings kept as files of this folder: one file per kind, one input per line, in hexadecimal.</summary>
/// <remarks>They only grow: what an older version wrote must be readable.</remarks>
public static class Corpus
{
    private static readonly string Folder = Path.Combine(AppContext.BaseDirectory, "Corpus");

    /// <summary>The kinds there are.</summary>
    public static IReadOnlyList<string> Names { get; } =
        [.. Directory.GetFiles(Folder, "*.hex").Select(Path.GetFileNameWithoutExtension).Order(StringComparer.Ordinal)!];

    /// <summary>The inputs of a kind; none if it has no file.</summary>
    public static IReadOnlyList<byte[]> Read(string name)
    {
        string path = Path.Combine(Folder, name + ".hex");
        return File.Exists(path) ? [.. File.ReadLines(path).Select(Convert.FromHexString)] : [];
    }
}
