using System.Xml.Linq;

namespace EQueue.Tidy.Tests;

/// <summary>Which project may refer to which: the rooms of the architecture.</summary>
internal static class Arrows
{
    private static readonly Dictionary<string, string[]> Allowed = new(StringComparer.Ordinal)
    {
        ["src/Protocol"] = [],
        ["src/Remoting"] = [],
        ["src/MessageStore"] = ["src/Protocol"],
        ["src/Replication"] = ["src/Protocol"],
        ["src/Client"] = ["src/Protocol", "src/Remoting"],
        ["src/Broker"] = ["src/Protocol", "src/Remoting", "src/MessageStore"],
        ["src/Cluster"] = ["src/Protocol", "src/Remoting", "src/MessageStore", "src/Replication"],
        ["src/Server"] = ["src/Broker", "src/Client", "src/Cluster"],
        ["src/Cli"] = ["src/Client", "src/Cluster", "src/MessageStore"],
    };

    private static readonly string[] LibraryPackages = ["Microsoft.Extensions.Logging.Abstractions"];

    /// <summary>What one library may have besides, by a decision record.</summary>
    private static readonly Dictionary<string, string[]> OwnPackages = new(StringComparer.Ordinal)
    {
        ["src/Protocol"] = ["K4os.Compression.LZ4.Streams", "Snappier", "ZstdSharp.Port"],
    };

    /// <summary>The projects among <paramref name="files"/> that refer to what their room may not.</summary>
    public static IEnumerable<Violation> Check(IEnumerable<SourceFile> files)
        => files.Where(file => file.Path.EndsWith(".csproj", StringComparison.Ordinal)).SelectMany(CheckProject);

    private static IEnumerable<Violation> CheckProject(SourceFile file)
    {
        string folder = Path.GetDirectoryName(file.Path)!.Replace('\\', '/');
        string[] references = [.. References(file, folder)];
        if (!folder.StartsWith("src/", StringComparison.Ordinal))
            return [];
        if (!Allowed.TryGetValue(folder, out string[]? allowed))
            return [new Violation("arrows", file.Path, 1, "the architecture knows no such room")];
        IEnumerable<Violation> upward = references
            .Where(reference => !allowed.Contains(reference))
            .Select(reference => new Violation("arrows", file.Path, 1, $"{folder} may not refer to {reference}"));
        bool isProgram = folder is "src/Server" or "src/Cli";
        IEnumerable<Violation> packages = isProgram ? [] : Packages(file)
            .Where(package => !LibraryPackages.Contains(package)
                && !OwnPackages.GetValueOrDefault(folder, []).Contains(package))
            .Select(package => new Violation("arrows", file.Path, 1, $"a library may not depend on {package}"));
        return upward.Concat(packages);
    }

    private static IEnumerable<string> References(SourceFile file, string folder)
        => Includes(file, "ProjectReference").Select(include => Normalize($"{folder}/{include.Replace('\\', '/')}"));

    private static IEnumerable<string> Packages(SourceFile file) => Includes(file, "PackageReference");

    private static IEnumerable<string> Includes(SourceFile file, string element)
        => XDocument.Parse(file.Text).Descendants(element).Select(found => (string?)found.Attribute("Include") ?? "");

    /// <summary>The folder of a project file, from the root: <c>src/Cli/../Client/Client.csproj</c> is src/Client.</summary>
    private static string Normalize(string path)
    {
        var parts = new List<string>();
        foreach (string part in path.Split('/'))
        {
            if (part == "..")
                parts.RemoveAt(parts.Count - 1);
            else
                parts.Add(part);
        }

        return string.Join('/', parts.SkipLast(1));
    }
}
