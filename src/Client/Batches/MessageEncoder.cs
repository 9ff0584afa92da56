using System.Text;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>
/// Gives the messages of one call as record contents; keys and tags are encoded into memory that is used again.
/// </summary>
internal sealed class MessageEncoder(IReadOnlyList<Message> messages)
{
    private byte[] _key = [];
    private byte[] _tag = [];

    public int Count => messages.Count;

    /// <summary>Whether any message has a key.</summary>
    public bool HasKeys => messages.Any(static message => message.Key is not null);

    public bool HasKey(int index) => messages[index].Key is not null;

    /// <summary>The content of a message; valid until the next call.</summary>
    public RecordContent Encode(int index)
    {
        Message message = messages[index];
        return new RecordContent
        {
            Key = Encode(message.Key, ref _key),
            Tag = Encode(message.Tag, ref _tag),
            Body = message.Body is { } body ? new OptionalBytes(body.Span) : default,
            Properties = message.Properties,
        };
    }

    private static OptionalBytes Encode(string? text, ref byte[] scratch)
    {
        if (text is null)
            return default;
        int most = Encoding.UTF8.GetMaxByteCount(text.Length);
        if (scratch.Length < most)
            scratch = new byte[most];
        return new OptionalBytes(scratch.AsSpan(0, Encoding.UTF8.GetBytes(text, scratch)));
    }
}
