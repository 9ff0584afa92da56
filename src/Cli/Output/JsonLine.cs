using System.Buffers;
using System.Text.Json;

namespace EQueue.Cli.Output;

/// <summary>Writes one JSON object a line.</summary>
internal static class JsonLine
{
    public static void Write(Stream output, Action<Utf8JsonWriter> writeFields)
    {
        var bytes = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(bytes, JsonText.Options))
        {
            json.WriteStartObject();
            writeFields(json);
            json.WriteEndObject();
        }

        output.Write(bytes.WrittenSpan);
        output.Write("\n"u8);
    }
}
