namespace EQueue.Support;

/// <summary>Where the built programs and the repository's files are.</summary>
public static class ProgramFiles
{
    /// <summary>The checkout's root.</summary>
    public static string Root { get; } = FindRoot();

    /// <summary>The assembly of a program: <c>Server</c>, <c>Cli</c>.</summary>
    public static string AssemblyOf(string project)
    {
        // Built beside the tests, in the same configuration: artifacts/bin/<project>/<configuration>.
        string configuration = Path.GetFileName(Path.TrimEndingDirectorySeparator(AppContext.BaseDirectory));
        string path = Path.Combine(Root, "artifacts", "bin", project, configuration, $"EQueue.{project}.dll");
        return File.Exists(path) ? path : throw new FileNotFoundException($"{project} is not built.", path);
    }

    private static string FindRoot()
    {
        string? folder = AppContext.BaseDirectory;
        while (folder is not null && !File.Exists(Path.Combine(folder, "EQueue.sln")))
            folder = Path.GetDirectoryName(folder);
        return folder ?? throw new InvalidOperationException($"No EQueue.sln above {AppContext.BaseDirectory}.");
    }
}
