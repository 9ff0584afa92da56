using System.Runtime.InteropServices;
using System.Text;

namespace EQueue.Client;

/// <summary>Gives messages as record contents, and the messages of a call as neighbours in memory.</summary>
internal static class MessageEncoder
{
    /// <summary>Room for the key and the tag of most messages, in bytes.</summary>
    public const int TextBytes = 512;

    /// <summary>Whether the message is a body and nothing else.</summary>
    public static bool IsPlain(this in Message message) =>
        message.Key is null && message.Tag is null && message.Properties is null && message.Body.HasValue;

    /// <summary>A message's parts as bytes; valid as long as <paramref name="room"/>.</summary>
    /// <param name="message">The message.</param>
    /// <param name="room">Where key and tag are encoded, as far as they fit.</param>
    public static RecordContent Encode(in Message message, Span<byte> room) => new()
    {
        Key = Encode(message.Key, ref room),
        Body = message.Body is { } body ? new OptionalBytes(body.Span) : default,
        Tag = Encode(message.Tag, ref room),
        Properties = message.Properties,
    };

    /// <summary>A text as bytes; valid as long as <paramref name="room"/>, of which what is left remains.</summary>
    public static OptionalBytes Encode(string? text, scoped ref Span<byte> room)
    {
        if (text is null)
            return default;
        int most = Encoding.UTF8.GetMaxByteCount(text.Length);
        if (most > room.Length)
            return new OptionalBytes(Encoding.UTF8.GetBytes(text));
        Span<byte> encoded = room[..Encoding.UTF8.GetBytes(text, room)];
        room = room[encoded.Length..];
        return new OptionalBytes(encoded);
    }

    /// <summary>The messages of a call; copied only when the list does not keep them side by side.</summary>
    public static ReadOnlySpan<Message> SpanOf(IReadOnlyList<Message> messages) => messages switch
    {
        Message[] array => array,
        List<Message> list => CollectionsMarshal.AsSpan(list),
        ArraySegment<Message> segment => segment,
        _ => messages.ToArray(),
    };

    /// <summary>The messages of a call as memory that outlasts the call's first step.</summary>
    public static ReadOnlyMemory<Message> MemoryOf(IReadOnlyList<Message> messages) => messages switch
    {
        Message[] array => array,
        ArraySegment<Message> segment => segment,
        _ => messages.ToArray(),
    };
}
