namespace EQueue.Cli.Output;

/// <summary>What of a message is printed, byte for byte.</summary>
internal readonly record struct PrintedMessage
{
    public required string Topic { get; init; }

    public required int Queue { get; init; }

    public required long Offset { get; init; }

    public required ReadOnlyMemory<byte>? Key { get; init; }

    public required ReadOnlyMemory<byte>? Tag { get; init; }

    /// <summary>In order; names may repeat, values may be null.</summary>
    public required List<KeyValuePair<byte[], byte[]?>> Properties { get; init; }

    /// <summary>The message itself; <see langword="null"/> when it was sent as null.</summary>
    public required ReadOnlyMemory<byte>? Body { get; init; }

    public required DateTimeOffset CreateTime { get; init; }

    public required DateTimeOffset StoredTime { get; init; }

    /// <summary>Its key, tag and body are valid as long as the message is.</summary>
    public static PrintedMessage Of(in ReceivedMessage message) => new()
    {
        Topic = message.Topic,
        Queue = message.Queue,
        Offset = message.Offset.Value,
        Key = Some(message.HasKey, message.Key),
        Tag = Some(message.Tag is not null, message.TagBytes),
        Properties = Read(message.Properties),
        Body = Some(message.HasBody, message.Body),
        CreateTime = message.CreateTime,
        StoredTime = message.StoredTime,
    };

    public static PrintedMessage Of(DetachedMessage message) => new()
    {
        Topic = message.Topic,
        Queue = message.Queue,
        Offset = message.Offset.Value,
        Key = Some(message.Key is not null, message.Key),
        Tag = Some(message.Tag is not null, message.TagBytes),
        Properties = Read(message.CopyProperties().GetEnumerator()),
        Body = Some(message.Body is not null, message.Body),
        CreateTime = message.CreateTime,
        StoredTime = message.StoredTime,
    };

    /// <summary>Bytes that are there. (A null beside memory would be empty memory.)</summary>
    private static ReadOnlyMemory<byte>? Some(bool isThere, ReadOnlyMemory<byte> bytes)
    {
        if (isThere)
            return bytes;
        return null;
    }

    private static List<KeyValuePair<byte[], byte[]?>> Read(RecordPropertyReader properties)
    {
        var pairs = new List<KeyValuePair<byte[], byte[]?>>();
        foreach (RecordProperty property in properties)
            pairs.Add(new(property.Name.ToArray(), property.Value.HasValue ? property.Value.Value.ToArray() : null));
        return pairs;
    }
}
