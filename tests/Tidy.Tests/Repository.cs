namespace EQueue.Tidy.Tests;

/// <summary>The checkout that these tests were built from.</summary>
internal static class Repository
{
    private static readonly string[] SkippedFolders =
        ["artifacts", "out", "bin", "obj", "data", "node_modules", "TestResults", "BenchmarkDotNet.Artifacts"];

    private static readonly string[] TextEndings =
    [
        ".cs", ".csproj", ".props", ".targets", ".json", ".md", ".sh", ".ps1", ".txt", ".editorconfig", ".sln",
        ".gitignore", ".config", ".yml", ".xml", ".c", ".py", "/run",
    ];

    public static string Root { get; } = FindRoot();

    /// <summary>Every text file under the root that is not a build product.</summary>
    public static IReadOnlyList<SourceFile> Files { get; } = [.. Read(Root)];

    public static IEnumerable<SourceFile> CSharp => Files.Where(file => file.IsCSharp);

    private static string FindRoot()
    {
        string? folder = AppContext.BaseDirectory;
        while (folder is not null && !File.Exists(Path.Combine(folder, "EQueue.sln")))
            folder = Path.GetDirectoryName(folder);
        return folder ?? throw new InvalidOperationException($"No EQueue.sln above {AppContext.BaseDirectory}.");
    }

    private static IEnumerable<SourceFile> Read(string folder)
    {
        foreach (string path in Directory.EnumerateFiles(folder))
        {
            string relative = Path.GetRelativePath(Root, path).Replace('\\', '/');
            if (TextEndings.Any(ending => ("/" + relative).EndsWith(ending, StringComparison.Ordinal)))
                yield return new SourceFile(relative, File.ReadAllText(path).ReplaceLineEndings("\n"));
        }

        foreach (string inner in Directory.EnumerateDirectories(folder))
        {
            string name = Path.GetFileName(inner);
            if (SkippedFolders.Contains(name) || name is ".git" or ".vs" or ".idea")
                continue;
            foreach (SourceFile file in Read(inner))
                yield return file;
        }
    }
}
