using System.Text.Json;
using System.Text.Json.Serialization;

namespace EQueue.Server.Http;

/// <summary>Writes long bytes as base64 in pieces: as a whole they would take an array a third longer.</summary>
internal sealed class LongBytesConverter : JsonConverter<byte[]>
{
    private const int PieceLength = 12 << 10;

    public override byte[] Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) =>
        reader.GetBytesFromBase64();

    public override void Write(Utf8JsonWriter writer, byte[] value, JsonSerializerOptions options)
    {
        ReadOnlySpan<byte> rest = value;
        while (rest.Length > PieceLength)
        {
            writer.WriteBase64StringSegment(rest[..PieceLength], isFinalSegment: false);
            rest = rest[PieceLength..];
        }

        writer.WriteBase64StringSegment(rest, isFinalSegment: true);
    }
}
