using System.Text;
using System.Text.Json;
using EQueue.Client;
using EQueue.Protocol;

namespace EQueue.Cli.Output;

/// <summary>Prints consumed messages in one format.</summary>
internal sealed class MessageWriter(Stream output, MessageFormat format) : IDisposable
{
    private readonly Utf8JsonWriter _json = new(output, JsonText.Options);

    public void Write(in ReceivedMessage message)
    {
        switch (format)
        {
            case MessageFormat.Raw:
                output.Write(message.Body.Span);
                break;
            case MessageFormat.Text:
                WriteText(message);
                break;
            case MessageFormat.Json:
                WriteJson(message);
                break;
        }

        output.Write("\n"u8);
    }

    public void Dispose() => _json.Dispose();

    private void WriteText(in ReceivedMessage message)
    {
        var head = new StringBuilder($"{message.Queue}:{message.Offset.Value} {JsonText.Time(message.StoredTime)} ");
        if (message.KeyText is { } key) head.Append($"key={key} ");
        if (message.Tag is { } tag) head.Append($"tag={tag} ");
        foreach (RecordProperty property in message.Properties)
        {
            string value = property.Value.HasValue ? Encoding.UTF8.GetString(property.Value.Value) : "null";
            head.Append($"{Encoding.UTF8.GetString(property.Name)}={value} ");
        }

        output.Write(Encoding.UTF8.GetBytes(head.ToString()));
        output.Write(message.HasBody ? message.Body.Span : "(no body)"u8);
    }

    private void WriteJson(in ReceivedMessage message)
    {
        _json.Reset(output);
        _json.WriteStartObject();
        _json.WriteString("topic", message.Topic);
        _json.WriteNumber("queue", message.Queue);
        _json.WriteNumber("offset", message.Offset.Value);
        _json.WriteString("key", message.KeyText);
        _json.WriteString("tag", message.Tag);
        WriteProperties(message);
        if (message.HasBody) _json.WriteBase64String("body", message.Body.Span);
        else _json.WriteNull("body");
        _json.WriteString("createTime", JsonText.Time(message.CreateTime));
        _json.WriteString("storedTime", JsonText.Time(message.StoredTime));
        _json.WriteEndObject();
        _json.Flush();
    }

    /// <summary>Values by name; a name that comes several times has a list of them.</summary>
    private void WriteProperties(in ReceivedMessage message)
    {
        var byName = new Dictionary<string, List<string?>>(StringComparer.Ordinal);
        foreach (RecordProperty property in message.Properties)
        {
            string name = Encoding.UTF8.GetString(property.Name);
            if (!byName.TryGetValue(name, out List<string?>? values)) byName.Add(name, values = []);
            values.Add(property.Value.HasValue ? Encoding.UTF8.GetString(property.Value.Value) : null);
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
