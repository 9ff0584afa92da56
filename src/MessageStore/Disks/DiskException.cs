namespace EQueue.MessageStore;

/// <summary>A file operation failed.</summary>
public sealed class DiskException : IOException
{
    /// <summary>Makes the exception with the facts that its text carries.</summary>
    /// <param name="fault">The kind of failure.</param>
    /// <param name="path">The file or folder.</param>
    /// <param name="operation">What was tried, as the system calls it.</param>
    /// <param name="reason">The system's own words.</param>
    /// <param name="innerException">The cause, where there is one.</param>
    public DiskException(
        DiskFault fault, string path, string operation, string reason, Exception? innerException = null)
        : base($"{operation} failed on {path}: {reason} ({fault}).", innerException)
    {
        Fault = fault;
        Path = path;
    }

    /// <summary>The kind of failure.</summary>
    public DiskFault Fault { get; }

    /// <summary>The file or folder.</summary>
    public string Path { get; }
}
