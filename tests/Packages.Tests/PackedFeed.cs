using System.IO.Compression;
using EQueue.Support;

namespace EQueue.Packages.Tests;

/// <summary>The packages, made once by the command that docs/getting-started.md gives.</summary>
public sealed class PackedFeed : IAsyncLifetime
{
    private readonly TempDirectory _directory = new();

    /// <summary>What the guide calls <c>..</c>: the folder that holds equeue-packages.</summary>
    public string Folder => _directory.FullPath;

    /// <summary>The package files and their symbols.</summary>
    public IReadOnlyList<string> Files { get; private set; } = [];

    public async ValueTask InitializeAsync()
    {
        string command = DocumentFile.Read("docs/getting-started.md").Block("pack").Text.Trim();
        await Dotnet.RunAsync(command.Replace("../", Folder + "/", StringComparison.Ordinal), ProgramFiles.Root);
        Files = [.. Directory.EnumerateFiles(_directory["equeue-packages"]).Order(StringComparer.Ordinal)];
    }

    public ValueTask DisposeAsync()
    {
        _directory.Dispose();
        return ValueTask.CompletedTask;
    }

    /// <summary>The entries of the one package file that begins with that id and has that ending.</summary>
    public IReadOnlyDictionary<string, byte[]> Read(string id, string ending)
        => ReadEntries(Files.Single(file => Path.GetFileName(file).StartsWith(id + ".", StringComparison.Ordinal)
            && file.EndsWith(ending, StringComparison.Ordinal)));

    /// <summary>The entries of a package by their names.</summary>
    public static IReadOnlyDictionary<string, byte[]> ReadEntries(string file)
    {
        using ZipArchive archive = ZipFile.OpenRead(file);
        return archive.Entries.ToDictionary(entry => entry.FullName, Read, StringComparer.Ordinal);
    }

    private static byte[] Read(ZipArchiveEntry entry)
    {
        using Stream stream = entry.Open();
        var bytes = new MemoryStream();
        stream.CopyTo(bytes);
        return bytes.ToArray();
    }
}
