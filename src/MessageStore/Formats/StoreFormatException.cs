namespace EQueue.MessageStore;

/// <summary>The data directory cannot be opened as it stands: another version's, another store's, or damaged beyond
/// repair.</summary>
/// <remarks>Nothing was changed on disk. The message names the file, what was expected and what was found.</remarks>
public sealed class StoreFormatException : IOException
{
    /// <summary>Makes the exception of one file.</summary>
    /// <param name="path">The file or directory.</param>
    /// <param name="message">What is wrong with it.</param>
    public StoreFormatException(string path, string message)
        : base($"{path}: {message}") => Path = path;

    /// <summary>The file or directory that stands in the way.</summary>
    public string Path { get; }
}
