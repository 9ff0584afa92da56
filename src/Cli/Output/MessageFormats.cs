namespace EQueue.Cli.Output;

/// <summary>Reads <c>--format</c>.</summary>
internal static class MessageFormats
{
    /// <param name="text">raw, text or json; without it <paramref name="isJson"/> decides.</param>
    /// <param name="isJson">Whether <c>--json</c> was given.</param>
    public static MessageFormat Read(string? text, bool isJson) => text switch
    {
        "raw" => MessageFormat.Raw,
        "text" => MessageFormat.Text,
        "json" => MessageFormat.Json,
        _ => isJson ? MessageFormat.Json : MessageFormat.Raw,
    };
}
