using System.Diagnostics;

namespace EQueue.Load.Roles;

/// <summary>A program of the product, built beside this one.</summary>
internal static class BuiltProgram
{
    /// <summary>How to start it, its output and errors for the caller to read.</summary>
    /// <param name="project">Server or Cli.</param>
    /// <param name="arguments">Its command line.</param>
    /// <exception cref="LoadException">It is not there.</exception>
    public static ProcessStartInfo NewStart(string project, IEnumerable<string> arguments)
    {
        var own = new DirectoryInfo(AppContext.BaseDirectory);
        string folder = Path.GetFullPath(Path.Combine(own.FullName, "..", "..", project, own.Name));
        string library = Path.Combine(folder, $"EQueue.{project}.dll");
        if (!File.Exists(library))
            throw LoadException.Failed($"the program is not at {library}: build it, or the load program anew");
        string program = Environment.ProcessPath!;
        string name = Path.GetFileNameWithoutExtension(program);
        bool isHost = string.Equals(name, "dotnet", StringComparison.OrdinalIgnoreCase);
        var start = new ProcessStartInfo(isHost ? program : Path.ChangeExtension(library, null))
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            UseShellExecute = false,
        };
        if (isHost)
            start.ArgumentList.Add(library);
        foreach (string argument in arguments)
            start.ArgumentList.Add(argument);
        return start;
    }
}
