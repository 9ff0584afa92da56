using System.Text;
using EQueue.Client;
using EQueue.Protocol;

namespace EQueue.Cli.Output;

/// <summary>What of a message is printed beside its body, as text.</summary>
internal readonly record struct PrintedMessage
{
    public required string Topic { get; init; }

    public required int Queue { get; init; }

    public required long Offset { get; init; }

    public required string? Key { get; init; }

    public required string? Tag { get; init; }

    public required List<KeyValuePair<string, string?>> Properties { get; init; }

    /// <summary>The message itself; <see langword="null"/> when it was sent as null.</summary>
    public required ReadOnlyMemory<byte>? Body { get; init; }

    public required DateTimeOffset CreateTime { get; init; }

    public required DateTimeOffset StoredTime { get; init; }

    /// <summary>Its body is valid as long as the message is.</summary>
    public static PrintedMessage Of(in ReceivedMessage message)
    {
        var properties = new List<KeyValuePair<string, string?>>();
        foreach (RecordProperty property in message.Properties)
        {
            properties.Add(new(
                Encoding.UTF8.GetString(property.Name),
                property.Value.HasValue ? Encoding.UTF8.GetString(property.Value.Value) : null));
        }

        return new PrintedMessage
        {
            Topic = message.Topic,
            Queue = message.Queue,
            Offset = message.Offset.Value,
            Key = message.KeyText,
            Tag = message.Tag,
            Properties = properties,
            Body = message.HasBody ? message.Body : null,
            CreateTime = message.CreateTime,
            StoredTime = message.StoredTime,
        };
    }

    public static PrintedMessage Of(DetachedMessage message) => new()
    {
        Topic = message.Topic,
        Queue = message.Queue,
        Offset = message.Offset.Value,
        Key = Text(message.Key),
        Tag = message.Tag,
        Properties = [.. message.Properties.Select(pair => KeyValuePair.Create(pair.Key, Text(pair.Value)))],
        Body = message.Body is null ? null : message.Body.AsMemory(),
        CreateTime = message.CreateTime,
        StoredTime = message.StoredTime,
    };

    private static string? Text(byte[]? bytes) => bytes is null ? null : Encoding.UTF8.GetString(bytes);
}
