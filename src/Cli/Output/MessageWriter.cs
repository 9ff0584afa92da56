using System.Text;
using System.Text.Json;
using EQueue.Client;

namespace EQueue.Cli.Output;

/// <summary>Prints messages in one format.</summary>
internal sealed class MessageWriter(Stream output, MessageFormat format) : IDisposable
{
    private readonly Utf8JsonWriter _json = new(output, JsonText.Options);

    public void Write(in ReceivedMessage message)
    {
        if (format == MessageFormat.Raw) output.Write(message.Body.Span);
        else Write(PrintedMessage.Of(message));
        output.Write("\n"u8);
    }

    public void Write(DetachedMessage message)
    {
        if (format == MessageFormat.Raw) output.Write(message.Body);
        else Write(PrintedMessage.Of(message));
        output.Write("\n"u8);
    }

    public void Dispose() => _json.Dispose();

    private void Write(in PrintedMessage message)
    {
        if (format == MessageFormat.Text) WriteText(message);
        else WriteJson(message);
    }

    private void WriteText(in PrintedMessage message)
    {
        var head = new StringBuilder($"{message.Queue}:{message.Offset} {JsonText.Time(message.StoredTime)} ");
        if (message.Key is { } key) head.Append($"key={key} ");
        if (message.Tag is { } tag) head.Append($"tag={tag} ");
        foreach ((string name, string? value) in message.Properties) head.Append($"{name}={value ?? "null"} ");
        output.Write(Encoding.UTF8.GetBytes(head.ToString()));
        output.Write(message.Body is { } body ? body.Span : "(no body)"u8);
    }

    private void WriteJson(in PrintedMessage message)
    {
        _json.Reset(output);
        _json.WriteStartObject();
        _json.WriteString("topic", message.Topic);
        _json.WriteNumber("queue", message.Queue);
        _json.WriteNumber("offset", message.Offset);
        _json.WriteString("key", message.Key);
        _json.WriteString("tag", message.Tag);
        WriteProperties(message.Properties);
        if (message.Body is { } body) _json.WriteBase64String("body", body.Span);
        else _json.WriteNull("body");
        _json.WriteString("createTime", JsonText.Time(message.CreateTime));
        _json.WriteString("storedTime", JsonText.Time(message.StoredTime));
        _json.WriteEndObject();
        _json.Flush();
    }

    /// <summary>Values by name; a name that comes several times has a list of them.</summary>
    private void WriteProperties(List<KeyValuePair<string, string?>> properties)
    {
        var byName = new Dictionary<string, List<string?>>(StringComparer.Ordinal);
        foreach ((string name, string? value) in properties)
        {
            if (!byName.TryGetValue(name, out List<string?>? values)) byName.Add(name, values = []);
            values.Add(value);
        }

        _json.WriteStartObject("properties");
        foreach ((string name, List<string?> values) in byName)
        {
            if (values is [var only])
            {
                _json.WriteString(name, only);
                continue;
            }

            _json.WriteStartArray(name);
            foreach (string? value in values) _json.WriteStringValue(value);
            _json.WriteEndArray();
        }

        _json.WriteEndObject();
    }
}
