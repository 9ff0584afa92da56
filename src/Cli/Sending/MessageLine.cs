using System.Text;
using System.Text.Json;
using EQueue.Cli.Output;

namespace EQueue.Cli.Sending;

/// <summary>A message as <c>consume --json</c> prints it, read back byte for byte.</summary>
/// <remarks>Topic, queue, offset and times say where it was; they are allowed and not looked at.</remarks>
internal sealed record MessageLine
{
    public byte[]? Key { get; private init; }

    public byte[]? Tag { get; private init; }

    public RecordProperties? Properties { get; private init; }

    public byte[]? Body { get; private init; }

    /// <param name="line">One JSON object.</param>
    /// <param name="number">The line's number, from 1, for errors.</param>
    /// <exception cref="UsageException">It is no such object; the message names the line and the member.</exception>
    public static MessageLine Read(ReadOnlyMemory<byte> line, long number)
    {
        try
        {
            using var document = JsonDocument.Parse(line);
            return Read(document.RootElement);
        }
        catch (Exception exception)
            when (exception is JsonException or FormatException or InvalidOperationException or ArgumentException)
        {
            throw new UsageException($"Line {number} is no message as JSON: {Words.Of(exception)}");
        }
    }

    private static MessageLine Read(JsonElement root)
    {
        if (root.ValueKind != JsonValueKind.Object)
            throw new FormatException($"found {Kind(root)}, not an object.");
        var members = new Dictionary<string, JsonElement>(StringComparer.Ordinal);
        foreach (JsonProperty member in root.EnumerateObject())
        {
            if (member.Name is not (MessageJson.Topic or MessageJson.Queue or MessageJson.Offset or MessageJson.Key
                or MessageJson.Tag or MessageJson.Properties or MessageJson.Body or MessageJson.CreateTime
                or MessageJson.StoredTime or MessageJson.KeyBase64 or MessageJson.TagBase64
                or MessageJson.PropertiesBase64))
            {
                throw new FormatException($"unknown member '{member.Name}'.");
            }

            if (!members.TryAdd(member.Name, member.Value))
                throw new FormatException($"the member '{member.Name}' comes twice.");
        }

        if (!members.TryGetValue(MessageJson.Body, out JsonElement body))
            throw new FormatException($"the member '{MessageJson.Body}' is missing.");
        return new MessageLine
        {
            Key = ReadBytes(members, MessageJson.KeyBase64, MessageJson.Key),
            Tag = ReadBytes(members, MessageJson.TagBase64, MessageJson.Tag),
            Properties = ReadProperties(members),
            Body = ReadBase64(body, MessageJson.Body),
        };
    }

    private static byte[]? ReadBytes(Dictionary<string, JsonElement> members, string exact, string text) =>
        members.TryGetValue(exact, out JsonElement bytes) ? ReadBase64(bytes, exact)
        : members.TryGetValue(text, out JsonElement value) ? ReadText(value, text)
        : null;

    private static RecordProperties? ReadProperties(Dictionary<string, JsonElement> members)
    {
        var properties = new RecordProperties();
        if (members.TryGetValue(MessageJson.PropertiesBase64, out JsonElement pairs))
        {
            const string member = MessageJson.PropertiesBase64;
            foreach (JsonElement pair in Demand(pairs, JsonValueKind.Array, member).EnumerateArray())
            {
                if (Demand(pair, JsonValueKind.Array, member).GetArrayLength() != 2)
                    throw new FormatException($"'{member}' has what is no pair.");
                byte[]? name = ReadBase64(Demand(pair[0], JsonValueKind.String, member), member);
                properties.Add(name.AsSpan(), ReadBase64(pair[1], member));
            }
        }
        else if (members.TryGetValue(MessageJson.Properties, out JsonElement byName)
            && byName.ValueKind != JsonValueKind.Null)
        {
            Demand(byName, JsonValueKind.Object, MessageJson.Properties);
            foreach (JsonProperty pair in byName.EnumerateObject())
            {
                JsonElement[] values = pair.Value.ValueKind == JsonValueKind.Array
                    ? [.. pair.Value.EnumerateArray()] : [pair.Value];
                foreach (JsonElement value in values)
                {
                    properties.Add(
                        Encoding.UTF8.GetBytes(pair.Name).AsSpan(), ReadText(value, MessageJson.Properties));
                }
            }
        }

        return properties.Count == 0 ? null : properties;
    }

    private static byte[]? ReadText(JsonElement value, string member) => value.ValueKind == JsonValueKind.Null
        ? null : Encoding.UTF8.GetBytes(Demand(value, JsonValueKind.String, member).GetString()!);

    private static byte[]? ReadBase64(JsonElement value, string member)
    {
        if (value.ValueKind == JsonValueKind.Null)
            return null;
        return Demand(value, JsonValueKind.String, member).TryGetBytesFromBase64(out byte[]? bytes)
            ? bytes : throw new FormatException($"'{member}' is no base64.");
    }

    private static JsonElement Demand(JsonElement value, JsonValueKind kind, string member) => value.ValueKind == kind
        ? value
        : throw new FormatException(
            $"'{member}' has {Kind(value)} where {kind.ToString().ToLowerInvariant()} belongs.");

    private static string Kind(JsonElement value) => value.ValueKind.ToString().ToLowerInvariant();
}
