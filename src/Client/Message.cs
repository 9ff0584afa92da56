namespace EQueue.Client;

/// <summary>What an application sends.</summary>
/// <param name="Body">The message itself; null is not the same as empty.</param>
/// <param name="Key">Messages of one key keep their order and share a queue; null: any queue.</param>
/// <param name="Tag">A word to filter by.</param>
/// <param name="Properties">Name-value pairs; lent until the send completes.</param>
public readonly record struct Message(
    ReadOnlyMemory<byte>? Body, string? Key = null, string? Tag = null, RecordProperties? Properties = null)
{
    /// <summary>A message whose body is a text, as UTF-8.</summary>
    /// <param name="body">The message itself; may be empty.</param>
    /// <param name="key">Messages of one key keep their order and share a queue; null: any queue.</param>
    /// <param name="tag">A word to filter by.</param>
    /// <param name="properties">Name-value pairs; lent until the send completes.</param>
    /// <exception cref="ArgumentException">The body is null or not valid UTF-16.</exception>
    public static Message FromText(
        string body, string? key = null, string? tag = null, RecordProperties? properties = null)
    {
        ArgumentNullException.ThrowIfNull(body);
        return new Message(EncodedText.Strict.GetBytes(body), key, tag, properties);
    }
}
