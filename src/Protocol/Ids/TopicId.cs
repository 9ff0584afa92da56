namespace EQueue.Client;

/// <summary>The identity of a topic, which never changes: 16 random bytes, never reused, so that a topic created again
/// is another topic.</summary>
/// <param name="Value">On the wire and on disk: 16 bytes, big-endian as RFC 9562 writes a UUID.</param>
public readonly record struct TopicId(Guid Value)
{
    /// <summary>Bytes of an encoded id.</summary>
    public const int Size = 16;

    /// <summary>Makes a new, unique id.</summary>
    public static TopicId NewId() => new(Guid.NewGuid());

    /// <inheritdoc/>
    public override string ToString() => Value.ToString("N");
}
