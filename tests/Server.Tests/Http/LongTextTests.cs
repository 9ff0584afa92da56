using System.Buffers;
using System.Text;
using System.Text.Json;
using EQueue.Server.Http;

namespace EQueue.Server.Tests.Http;

/// <summary>Long texts leave in pieces, and what is read of them is what was written.</summary>
public sealed class LongTextTests
{
    [Theory]
    [InlineData("a", 5_000_001)]
    [InlineData("\"\\\n", 100_000)]
    [InlineData("x\U0001F600", 30_011)]
    [InlineData("grüße", 20_000)]
    [InlineData("\u0001", 200_000)]
    [InlineData("short", 1)]
    public void GivenALongText_WhenWritten_ThenItIsReadBackAsItWas(string part, int count)
    {
        string text = new StringBuilder(part.Length * count).Insert(0, part, count).ToString();
        using var pieces = new PieceWriter();
        using (var writer = new Utf8JsonWriter(pieces, ApiJson.WriterOptions))
            JsonSerializer.Serialize(writer, new[] { text, "next" }, ApiJson.Writing);
        byte[] whole = [.. pieces.Pieces.SelectMany(piece => piece.ToArray())];
        Assert.Equal(pieces.Length, whole.Length);
        Assert.Equal([text, "next"], JsonSerializer.Deserialize<string[]>(whole)!);
        Assert.Equal(JsonSerializer.SerializeToUtf8Bytes(new[] { text, "next" }, ApiJson.Options), whole);
    }

    [Fact]
    public void GivenALongTextOfSignsToEscape_WhenWritten_ThenNoPieceIsMuchLongerThanTheOthers()
    {
        using var pieces = new PieceWriter();
        using (var writer = new Utf8JsonWriter(pieces, ApiJson.WriterOptions))
            JsonSerializer.Serialize(writer, new string('"', 4_000_000), ApiJson.Writing);
        Assert.Equal(8_000_002, pieces.Length);
        Assert.All(pieces.Pieces, piece => Assert.InRange(piece.Length, 1, 128 << 10));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(12 << 10)]
    [InlineData((12 << 10) + 1)]
    [InlineData(1_000_003)]
    public void GivenBytes_WhenWritten_ThenTheyAreReadBackAndNoPieceIsMuchLongerThanTheOthers(int count)
    {
        byte[] bytes = new byte[count];
        new Random(1).NextBytes(bytes);
        using var pieces = new PieceWriter();
        using (var writer = new Utf8JsonWriter(pieces, ApiJson.WriterOptions))
            JsonSerializer.Serialize(writer, bytes, ApiJson.Writing);
        Assert.Equal(bytes, JsonSerializer.Deserialize<byte[]>([.. pieces.Pieces.SelectMany(piece => piece.ToArray())]));
        Assert.All(pieces.Pieces, piece => Assert.InRange(piece.Length, 1, 128 << 10));
    }

    [Fact]
    public void GivenNothing_WhenTheWriterIsAsked_ThenItHasNoBytes()
    {
        using var pieces = new PieceWriter();
        Assert.Equal(0, pieces.Length);
        Assert.Equal(0, pieces.Pieces.Sum(piece => piece.Length));
        pieces.GetSpan(300_000)[0] = 1;
        pieces.Advance(1);
        pieces.Write<byte>([2, 3]);
        Assert.Equal([1, 2, 3], pieces.Pieces.SelectMany(piece => piece.ToArray()));
    }
}
