using System.Text;
using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>Reads a message of a request.</summary>
internal static class OutgoingRecord
{
    /// <summary>The message as it is stored.</summary>
    /// <param name="message">What was asked to be sent.</param>
    /// <param name="index">Its place in the request.</param>
    /// <exception cref="ApiException">It says a thing twice, or names a property that cannot be.</exception>
    public static PostedMessage Read(OutgoingMessage? message, int index)
    {
        if (message is null)
            throw ApiException.OfValue($"messages[{index}]", "null", "an object");
        byte[]? key = BytesOf(message.Key, message.KeyBase64, $"messages[{index}].key");
        byte[]? body = BytesOf(message.Body, message.BodyBase64, $"messages[{index}].body");
        if (message.Tag is { } tag && !NameRules.IsText(tag))
            throw ApiException.OfValue($"messages[{index}].tag", tag, "a text without control characters");
        return new PostedMessage(
            index,
            key,
            body,
            BytesOf(message.Tag, message.TagBase64, $"messages[{index}].tag"),
            PropertiesOf(message.Properties ?? [], $"messages[{index}].properties"));
    }

    private static byte[]? BytesOf(string? text, byte[]? bytes, string what)
    {
        if (text is not null && bytes is not null)
            throw ApiException.OfValue(what, text, $"{what} or {what}Base64, not both");
        return text is null ? bytes : Encoding.UTF8.GetBytes(text);
    }

    private static RecordProperties? PropertiesOf(IReadOnlyList<PropertyBody?> pairs, string what)
    {
        if (pairs.Count == 0)
            return null;
        var properties = new RecordProperties();
        for (int i = 0; i < pairs.Count; i++)
        {
            PropertyBody pair = pairs[i] ?? throw ApiException.OfValue($"{what}[{i}]", "null", "an object");
            byte[]? value = BytesOf(pair.Value, pair.ValueBase64, $"{what}[{i}].value");
            properties.Add(NameOf(pair, $"{what}[{i}].name"), OptionalBytes.FromArray(value));
        }

        return properties;
    }

    private static byte[] NameOf(PropertyBody pair, string what)
    {
        byte[]? name = BytesOf(pair.Name, pair.NameBase64, what);
        bool isText = pair.Name is null || NameRules.IsText(pair.Name);
        if (name is { Length: > 0 } && isText && !name.AsSpan().SequenceEqual(RecordContent.TagHeaderNameUtf8))
            return name;
        throw ApiException.OfValue(
            what,
            name is null ? null : pair.Name ?? Convert.ToBase64String(name),
            $"a text without control characters, or base64, neither empty nor {RecordContent.TagHeaderName}");
    }
}
