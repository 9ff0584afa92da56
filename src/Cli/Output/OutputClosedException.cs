namespace EQueue.Cli.Output;

/// <summary>The reader of standard output has gone, as <c>head</c> does: nothing is wrong, and nothing more is
/// printed.</summary>
internal sealed class OutputClosedException() : Exception("The reader of standard output has gone.")
{
    /// <summary>Whether it is what ended a command.</summary>
    public static bool IsCauseOf(Exception? exception)
    {
        while (exception is not (null or OutputClosedException))
            exception = exception.InnerException;
        return exception is not null;
    }
}
