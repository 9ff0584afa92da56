namespace EQueue.Remoting;

/// <summary>When files were written last, links and what they lead to alike, to see that they have changed.</summary>
internal sealed class FileStamps : IEquatable<FileStamps>
{
    private readonly (DateTime Link, DateTime Target, long Bytes)[] _stamps;

    private FileStamps((DateTime Link, DateTime Target, long Bytes)[] stamps) => _stamps = stamps;

    /// <summary>Looks at the files; one that is not there, or may not be seen, has a stamp as well.</summary>
    public static FileStamps Of(params ReadOnlySpan<string?> paths)
    {
        var stamps = new (DateTime, DateTime, long)[paths.Length];
        for (int i = 0; i < paths.Length; i++)
        {
            if (paths[i] is { } path)
                stamps[i] = StampOf(path);
        }

        return new FileStamps(stamps);
    }

    /// <inheritdoc/>
    public bool Equals(FileStamps? other) => other is not null && _stamps.AsSpan().SequenceEqual(other._stamps);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as FileStamps);

    /// <inheritdoc/>
    public override int GetHashCode() => _stamps.Length;

    private static (DateTime Link, DateTime Target, long Bytes) StampOf(string path)
    {
        try
        {
            var link = new FileInfo(path);
            if (!link.Exists)
                return default;
            FileInfo target = (FileInfo?)link.ResolveLinkTarget(returnFinalTarget: true) ?? link;
            return (link.LastWriteTimeUtc, target.LastWriteTimeUtc, target.Exists ? target.Length : 0);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return default;
        }
    }
}
