using System.Diagnostics;
using System.Text;
using System.Text.Unicode;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>
/// A received message with memory of its own: made by <see cref="ReceivedMessage.Detach"/>, valid without end.
/// </summary>
public sealed record DetachedMessage
{
    /// <summary>The tag when it is no UTF-8, which <see cref="Tag"/> cannot give back.</summary>
    private byte[]? ExactTag { get; init; }

    /// <summary>The properties when a name of theirs is no UTF-8.</summary>
    private RecordProperties? ExactProperties { get; init; }

    /// <summary>The topic.</summary>
    public required string Topic { get; init; }

    /// <summary>The queue's number in the topic.</summary>
    public required int Queue { get; init; }

    /// <summary>Its place in the queue.</summary>
    public required QueueOffset Offset { get; init; }

    /// <summary>Topic, queue and offset together.</summary>
    public QueuePlace Place => new(Topic, Queue, Offset);

    /// <summary>The key's bytes; null for none.</summary>
    public byte[]? Key { get; init; }

    /// <summary>The message itself; null when it was sent as null.</summary>
    public byte[]? Body { get; init; }

    /// <summary>The key as text, made anew at each call; null when there is none. What is not UTF-8 in it becomes
    /// U+FFFD.</summary>
    public string? KeyText => Key is null ? null : Encoding.UTF8.GetString(Key);

    /// <summary>The body as text, made anew at each call; null when it was sent as null.</summary>
    /// <exception cref="DecoderFallbackException">The body is not UTF-8: <see cref="Body"/> has its bytes.</exception>
    public string? BodyText => Body is null ? null : EncodedText.Strict.GetString(Body);

    /// <summary>The tag; null for none.</summary>
    public string? Tag { get; init; }

    /// <summary>Name-value pairs in order; names may repeat, values may be null.</summary>
    public IReadOnlyList<KeyValuePair<string, byte[]?>> Properties { get; init; } = [];

    /// <summary>The tag's bytes, which need not be UTF-8; null for none.</summary>
    public byte[]? TagBytes => ExactTag ?? (Tag is null ? null : Encoding.UTF8.GetBytes(Tag));

    /// <summary>When the sender made it; at the nearest end of the years 1 to 9999 if it claims a time beyond
    /// them.</summary>
    public DateTimeOffset CreateTime { get; init; }

    /// <summary>When the broker stored it.</summary>
    public DateTimeOffset StoredTime { get; init; }

    /// <summary>Looks up a property by its name; of several of one name it gives the first.</summary>
    /// <param name="name">The name.</param>
    /// <param name="value">Its bytes; empty when the value is null or there is no such property.</param>
    /// <returns>Whether there is such a property; its value may be null (<see cref="Properties"/> tells that from
    /// empty).</returns>
    public bool TryGetProperty(string name, out ReadOnlySpan<byte> value)
    {
        bool found = TryFind(name, out byte[]? bytes);
        value = bytes;
        return found;
    }

    /// <summary>Looks up a property by its name and gives its value as text; of several of one name the
    /// first.</summary>
    /// <param name="name">The name.</param>
    /// <returns>The value; null when there is no such property or its value is null.</returns>
    /// <exception cref="DecoderFallbackException">The value is not UTF-8: <see cref="TryGetProperty"/> gives its
    /// bytes.</exception>
    public string? GetPropertyText(string name) =>
        TryFind(name, out byte[]? bytes) && bytes is not null ? EncodedText.Strict.GetString(bytes) : null;

    /// <summary>The trace context of the sender's activity: the parent of a span of the message's own.</summary>
    /// <returns>False when there is none, or none that W3C's rules allow.</returns>
    public bool TryGetTraceContext(out ActivityContext context) => MessageTrace.TryParse(
        TextOf(ClientTelemetry.TraceParentName), TextOf(ClientTelemetry.TraceStateName), out context);

    /// <summary>The properties byte for byte, also names that are no UTF-8, ready to be sent.</summary>
    public RecordProperties CopyProperties()
    {
        if (ExactProperties is not null)
            return ExactProperties.Copy();
        var copy = new RecordProperties();
        foreach ((string name, byte[]? value) in Properties)
            copy.Add(Encoding.UTF8.GetBytes(name), OptionalBytes.FromArray(value));
        return copy;
    }

    /// <summary>Copies a record.</summary>
    internal static DetachedMessage Copy(
        string topic, int queue, QueueOffset offset, long storedTimeMs, RecordView record)
    {
        List<KeyValuePair<string, byte[]?>>? properties = null;
        RecordProperties? exact = null;
        foreach (RecordProperty property in record.Properties)
        {
            properties ??= [];
            if (exact is null && !Utf8.IsValid(property.Name))
                exact = CopyOf(record.Properties);
            properties.Add(new(
                Encoding.UTF8.GetString(property.Name),
                property.Value.HasValue ? property.Value.Value.ToArray() : null));
        }

        return new DetachedMessage
        {
            Topic = topic,
            Queue = queue,
            Offset = offset,
            Key = record.HasKey ? record.Key.ToArray() : null,
            Body = record.HasBody ? record.Body.ToArray() : null,
            Tag = record.HasTag ? Encoding.UTF8.GetString(record.Tag) : null,
            Properties = (IReadOnlyList<KeyValuePair<string, byte[]?>>?)properties ?? [],
            CreateTime = RecordTime.ToInstant(record.TimestampMs),
            StoredTime = RecordTime.ToInstant(storedTimeMs),
            ExactTag = record.HasTag && !Utf8.IsValid(record.Tag) ? record.Tag.ToArray() : null,
            ExactProperties = exact,
        };
    }

    private static RecordProperties CopyOf(RecordPropertyReader properties)
    {
        var copy = new RecordProperties();
        foreach (RecordProperty property in properties)
            copy.Add(property);
        return copy;
    }

    private bool TryFind(string name, out byte[]? value)
    {
        ArgumentNullException.ThrowIfNull(name);
        foreach ((string found, byte[]? bytes) in Properties)
        {
            if (found == name)
            {
                value = bytes;
                return true;
            }
        }

        value = null;
        return false;
    }

    private string? TextOf(string name) =>
        TryFind(name, out byte[]? value) && value is not null ? Encoding.UTF8.GetString(value) : null;
}
