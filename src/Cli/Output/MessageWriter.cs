using System.Text;
using System.Text.Json;

namespace EQueue.Cli.Output;

/// <summary>Prints messages in one format.</summary>
internal sealed class MessageWriter(Stream output, MessageFormat format) : IDisposable
{
    private readonly Utf8JsonWriter _json = new(output, JsonText.Options);

    public void Write(in ReceivedMessage message)
    {
        if (format == MessageFormat.Raw)
            output.Write(message.Body.Span);
        else
            Write(PrintedMessage.Of(message));
        output.Write("\n"u8);
    }

    public void Write(DetachedMessage message)
    {
        if (format == MessageFormat.Raw)
            output.Write(message.Body);
        else
            Write(PrintedMessage.Of(message));
        output.Write("\n"u8);
    }

    public void Dispose() => _json.Dispose();

    private void Write(in PrintedMessage message)
    {
        if (format == MessageFormat.Text)
            WriteText(message);
        else
            WriteJson(message);
    }

    private void WriteText(in PrintedMessage message)
    {
        var head = new StringBuilder($"{message.Queue}:{message.Offset} {BodyTime.Text(message.StoredTime)} ");
        if (message.Key is { } key)
            head.Append($"key={Part(key.Span)} ");
        if (message.Tag is { } tag)
            head.Append($"tag={Part(tag.Span)} ");
        foreach ((byte[] name, byte[]? value) in message.Properties)
            head.Append($"{Part(name)}={(value is null ? "null" : Part(value))} ");
        output.Write(Encoding.UTF8.GetBytes(head.ToString()));
        output.Write(message.Body is { } body ? body.Span : "(no body)"u8);
    }

    /// <summary>No part can pretend to be another, or another message.</summary>
    private static string Part(ReadOnlySpan<byte> bytes) => TerminalText.OneLine(Encoding.UTF8.GetString(bytes));

    private void WriteJson(in PrintedMessage message)
    {
        _json.Reset(output);
        _json.WriteStartObject();
        MessageJson.WriteFields(_json, message);
        _json.WriteEndObject();
        _json.Flush();
    }
}
