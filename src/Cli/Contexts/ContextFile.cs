using System.Text.Json;
using System.Text.Json.Serialization;

namespace EQueue.Cli.Contexts;

/// <summary>The contexts of one person, in a file that no other user may read.</summary>
/// <param name="variable">Looks a variable of the environment up.</param>
internal sealed class ContextFile(Func<string, string?> variable)
{
    private const UnixFileMode OwnFile = UnixFileMode.UserRead | UnixFileMode.UserWrite;
    private const UnixFileMode OwnFolder = OwnFile | UnixFileMode.UserExecute;

    private static readonly JsonSerializerOptions Format = new(JsonSerializerDefaults.Web)
    {
        WriteIndented = true,
        DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
        RespectNullableAnnotations = true,
    };

    /// <summary>Where the file is, whether it is there or not; null when the environment names no home.</summary>
    public string? Path { get; } = FolderOf(variable) is { } folder
        ? System.IO.Path.Combine(folder, "equeue", "contexts.json") : null;

    /// <summary>What the file holds; nothing when there is none.</summary>
    /// <exception cref="UsageException">It is there and cannot be understood.</exception>
    public ContextBook Read()
    {
        if (Path is null || !File.Exists(Path))
            return new ContextBook();
        try
        {
            byte[] bytes = File.ReadAllBytes(Path);
            ContextShape.Check(bytes);
            ContextBook book = JsonSerializer.Deserialize<ContextBook>(bytes, Format)!;
            return book with { Contexts = new(book.Contexts, StringComparer.Ordinal) };
        }
        catch (Exception exception)
            when (exception is JsonException or ArgumentException or UnauthorizedAccessException)
        {
            string? place = exception is JsonException json ? JsonPlace.Explain(json, "line") : null;
            throw new UsageException(
                $"The contexts in {Path} cannot be read: {place ?? exception.Message} Mend the file, or remove it and "
                + "add them again.");
        }
    }

    /// <summary>Puts a new file in place of the old one, in one step.</summary>
    /// <exception cref="UsageException">The environment names no home.</exception>
    public void Write(ContextBook book)
    {
        if (Path is null)
            throw new UsageException("There is no place for contexts: set HOME, or XDG_CONFIG_HOME to a full path.");
        string folder = System.IO.Path.GetDirectoryName(Path)!;
        if (OperatingSystem.IsWindows())
            Directory.CreateDirectory(folder);
        else
            Directory.CreateDirectory(folder, OwnFolder);
        string fresh = $"{Path}.{Guid.NewGuid():N}";
        var options = new FileStreamOptions { Mode = FileMode.CreateNew, Access = FileAccess.Write };
        if (!OperatingSystem.IsWindows())
            options.UnixCreateMode = OwnFile;
        try
        {
            using (var file = new FileStream(fresh, options))
                JsonSerializer.Serialize(file, book, Format);
            File.Move(fresh, Path, overwrite: true);
        }
        catch
        {
            File.Delete(fresh);
            throw;
        }
    }

    private static string? FolderOf(Func<string, string?> variable)
    {
        if (OperatingSystem.IsWindows())
            return variable("APPDATA") is { Length: > 0 } roaming ? roaming : null;
        // Paths that are not full ones are none, says the XDG specification.
        if (variable("XDG_CONFIG_HOME") is { } folder && System.IO.Path.IsPathFullyQualified(folder))
            return folder;
        return variable("HOME") is { Length: > 0 } home ? System.IO.Path.Combine(home, ".config") : null;
    }
}
