namespace EQueue.Remoting;

/// <summary>An exception for the log whose message, or the message of a cause, held text of a peer that is not
/// printable.</summary>
internal sealed class PrintableException : Exception
{
    private readonly Exception _exception;

    private PrintableException(Exception exception)
        : base(
            PrintableText.Of(exception.Message),
            exception.InnerException is { } cause ? new PrintableException(cause) : null) => _exception = exception;

    public override string? StackTrace => _exception.StackTrace;

    /// <summary>The exception itself if all of it is printable.</summary>
    public static Exception? Of(Exception? exception)
    {
        for (Exception? cause = exception; cause is not null; cause = cause.InnerException)
        {
            if (!PrintableText.Is(cause.Message))
                return new PrintableException(exception!);
        }

        return exception;
    }

    public override string ToString()
    {
        string cause = InnerException is null ? "" : $"{Environment.NewLine} ---> {InnerException}";
        return $"{_exception.GetType()}: {Message}{cause}{Environment.NewLine}{StackTrace}";
    }
}
