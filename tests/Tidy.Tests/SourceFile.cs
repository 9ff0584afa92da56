namespace EQueue.Tidy.Tests;

/// <summary>A text file of the repository: its path from the root with forward slashes, and its text.</summary>
internal sealed record SourceFile(string Path, string Text)
{
    private string? _code;

    public bool IsCSharp => Path.EndsWith(".cs", StringComparison.Ordinal);

    public string Name => System.IO.Path.GetFileName(Path);

    /// <summary>The lines as they stand in the file.</summary>
    public string[] Lines => Text.Split('\n');

    /// <summary>The text with comments, strings and characters blanked; lines keep their numbers.</summary>
    public string Code => _code ??= CodeText.Blank(Text);

    /// <summary>The room of a file under src, else the empty string.</summary>
    public string Room => Path.StartsWith("src/", StringComparison.Ordinal) ? Path.Split('/')[1] : "";

    public bool IsUnder(params string[] folders)
        => folders.Any(folder => Path.StartsWith(folder + "/", StringComparison.Ordinal));

    /// <summary>The line number of a place in <see cref="Text"/> or <see cref="Code"/>.</summary>
    public int LineAt(int index) => Text.AsSpan(0, index).Count('\n') + 1;
}
