using System.Text;
using System.Text.Json;
using System.Text.Unicode;

namespace EQueue.Cli.Output;

/// <summary>
/// Messages as JSON objects: <c>{topic,queue,offset,key,tag,properties,body,createTime,storedTime}</c>, the body in
/// base64. <see cref="Sending.MessageLine"/> reads them.
/// </summary>
/// <remarks>
/// What is no UTF-8 stands in a member of its own too, in base64: <c>keyBase64</c>, <c>tagBase64</c>, and
/// <c>propertiesBase64</c>, a list of pairs in order, which also comes when <c>properties</c> cannot keep the order.
/// Where such a member is, it is what counts.
/// </remarks>
internal static class MessageJson
{
    public const string Topic = "topic";
    public const string Queue = "queue";
    public const string Offset = "offset";
    public const string Key = "key";
    public const string Tag = "tag";
    public const string Properties = "properties";
    public const string Body = "body";
    public const string CreateTime = "createTime";
    public const string StoredTime = "storedTime";
    public const string KeyBase64 = "keyBase64";
    public const string TagBase64 = "tagBase64";
    public const string PropertiesBase64 = "propertiesBase64";

    public static void WriteFields(Utf8JsonWriter json, in PrintedMessage message)
    {
        json.WriteString(Topic, message.Topic);
        json.WriteNumber(Queue, message.Queue);
        json.WriteNumber(Offset, message.Offset);
        WriteText(json, Key, message.Key);
        WriteText(json, Tag, message.Tag);
        WriteProperties(json, message.Properties);
        if (message.Body is { } body)
            json.WriteBase64String(Body, body.Span);
        else
            json.WriteNull(Body);
        json.WriteString(CreateTime, BodyTime.Text(message.CreateTime));
        json.WriteString(StoredTime, BodyTime.Text(message.StoredTime));
        WriteIfBinary(json, KeyBase64, message.Key);
        WriteIfBinary(json, TagBase64, message.Tag);
        if (!IsKeptByName(message.Properties))
            WritePairs(json, message.Properties);
    }

    private static void WriteText(Utf8JsonWriter json, string name, ReadOnlyMemory<byte>? bytes) =>
        json.WriteString(name, bytes is { } some ? Encoding.UTF8.GetString(some.Span) : null);

    private static void WriteIfBinary(Utf8JsonWriter json, string name, ReadOnlyMemory<byte>? bytes)
    {
        if (bytes is { } some && !Utf8.IsValid(some.Span))
            json.WriteBase64String(name, some.Span);
    }

    /// <summary>Values by name; a name that comes several times has a list of them.</summary>
    private static void WriteProperties(Utf8JsonWriter json, List<KeyValuePair<byte[], byte[]?>> properties)
    {
        var byName = new Dictionary<string, List<string?>>(StringComparer.Ordinal);
        foreach ((byte[] name, byte[]? value) in properties)
        {
            string text = Encoding.UTF8.GetString(name);
            if (!byName.TryGetValue(text, out List<string?>? values))
                byName.Add(text, values = []);
            values.Add(value is null ? null : Encoding.UTF8.GetString(value));
        }

        json.WriteStartObject(Properties);
        foreach ((string name, List<string?> values) in byName)
        {
            if (values is [var only])
            {
                json.WriteString(name, only);
                continue;
            }

            json.WriteStartArray(name);
            foreach (string? value in values)
                json.WriteStringValue(value);
            json.WriteEndArray();
        }

        json.WriteEndObject();
    }

    /// <summary>Whether values by name give the pairs back: all are UTF-8, a name's values stand together.</summary>
    private static bool IsKeptByName(List<KeyValuePair<byte[], byte[]?>> properties)
    {
        var names = new HashSet<string>(StringComparer.Ordinal);
        byte[]? before = null;
        foreach ((byte[] name, byte[]? value) in properties)
        {
            if (!Utf8.IsValid(name) || !Utf8.IsValid(value))
                return false;
            bool isSame = before is not null && name.AsSpan().SequenceEqual(before);
            if (!isSame && !names.Add(Encoding.UTF8.GetString(name)))
                return false;
            before = name;
        }

        return true;
    }

    private static void WritePairs(Utf8JsonWriter json, List<KeyValuePair<byte[], byte[]?>> properties)
    {
        json.WriteStartArray(PropertiesBase64);
        foreach ((byte[] name, byte[]? value) in properties)
        {
            json.WriteStartArray();
            json.WriteBase64StringValue(name);
            if (value is null)
                json.WriteNullValue();
            else
                json.WriteBase64StringValue(value);
            json.WriteEndArray();
        }

        json.WriteEndArray();
    }
}
