using System.Text.Json;
using System.Text.Json.Serialization;

namespace EQueue.Server.Http;

/// <summary>Writes a long text in pieces. As a whole it would take, while it is escaped, room for six characters for
/// each of its own.</summary>
internal sealed class LongTextConverter : JsonConverter<string>
{
    private const int PieceLength = 4 << 10;

    public override string? Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) =>
        reader.GetString();

    public override void Write(Utf8JsonWriter writer, string value, JsonSerializerOptions options)
    {
        if (value.Length <= PieceLength)
        {
            writer.WriteStringValue(value);
            return;
        }

        ReadOnlySpan<char> rest = value;
        while (rest.Length > PieceLength)
        {
            writer.WriteStringValueSegment(rest[..PieceLength], isFinalSegment: false);
            rest = rest[PieceLength..];
        }

        writer.WriteStringValueSegment(rest, isFinalSegment: true);
    }
}
