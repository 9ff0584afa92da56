namespace EQueue.MessageStore;

/// <summary>A backup or a restore was refused before it changed anything.</summary>
public sealed class BackupException : IOException
{
    /// <summary>Makes the exception of one folder.</summary>
    /// <param name="fault">Why.</param>
    /// <param name="path">The folder that stands in the way.</param>
    /// <param name="message">What is wrong with it.</param>
    /// <param name="innerException">The cause, where there is one.</param>
    public BackupException(BackupFault fault, string path, string message, Exception? innerException = null)
        : base($"{path}: {message}", innerException)
    {
        Fault = fault;
        Path = path;
    }

    /// <summary>Why.</summary>
    public BackupFault Fault { get; }

    /// <summary>The folder.</summary>
    public string Path { get; }
}
