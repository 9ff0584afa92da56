namespace EQueue.Cli;

/// <summary>What an exception says to people.</summary>
internal static class Words
{
    /// <summary>Its message without the name of a parameter of the program's own; nothing cancels a command but a
    /// signal.</summary>
    public static string Of(Exception exception)
    {
        if (exception is OperationCanceledException)
            return "interrupted";
        if (exception is not ArgumentException { ParamName: { } name })
            return exception.Message;
        string suffix = $" (Parameter '{name}')";
        return exception.Message.EndsWith(suffix, StringComparison.Ordinal)
            ? exception.Message[..^suffix.Length] : exception.Message;
    }
}
