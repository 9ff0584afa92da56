namespace EQueue.Client;

/// <summary>A message that is stored without a producer session.</summary>
/// <param name="Index">Its place among those that are sent together.</param>
/// <param name="Key">The key; null = none.</param>
/// <param name="Body">The message itself; null is not the same as empty.</param>
/// <param name="Tag">The filter word in UTF-8; null = none.</param>
/// <param name="Properties">Name-value pairs; null = none.</param>
internal sealed record PostedMessage(
    int Index, byte[]? Key, byte[]? Body, byte[]? Tag, RecordProperties? Properties)
{
    public int BodySize => Body?.Length ?? 0;

    public RecordContent Content => new()
    {
        Key = OptionalBytes.FromArray(Key),
        Body = OptionalBytes.FromArray(Body),
        Tag = OptionalBytes.FromArray(Tag),
        Properties = Properties,
    };
}
