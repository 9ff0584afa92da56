using System.Buffers;
using System.Text.Json;
using System.Text.Json.Serialization;

namespace EQueue.Cli.Output;

/// <summary>Writes one JSON object a line.</summary>
internal static class JsonLine
{
    private static readonly JsonSerializerOptions Bodies = new()
    {
        PropertyNamingPolicy = JsonNamingPolicy.CamelCase,
        Encoder = JsonText.Options.Encoder,
        Converters = { new JsonStringEnumConverter(JsonNamingPolicy.CamelCase), new TimeConverter() },
    };

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

    /// <summary>Writes what the admin port answers with the same type.</summary>
    public static void WriteBody<T>(Stream output, T body)
        where T : class
    {
        output.Write(JsonSerializer.SerializeToUtf8Bytes(body, Bodies));
        output.Write("\n"u8);
    }

    /// <summary>Times always have milliseconds.</summary>
    private sealed class TimeConverter : JsonConverter<DateTime>
    {
        public override DateTime Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) =>
            reader.GetDateTime();

        public override void Write(Utf8JsonWriter writer, DateTime value, JsonSerializerOptions options) =>
            writer.WriteStringValue(BodyTime.Text(new DateTimeOffset(value)));
    }
}
