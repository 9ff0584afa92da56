using System.IO.Pipelines;
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
    public async Task GivenALongText_WhenWritten_ThenItIsReadBackAsItWas(string part, int count)
    {
        string text = new StringBuilder(part.Length * count).Insert(0, part, count).ToString();
        byte[] whole = [.. (await WriteAsync(new[] { text, "next" })).SelectMany(piece => piece)];
        Assert.Equal([text, "next"], JsonSerializer.Deserialize<string[]>(whole)!);
        Assert.Equal(JsonSerializer.SerializeToUtf8Bytes(new[] { text, "next" }, ApiJson.Options), whole);
    }

    [Fact]
    public async Task GivenALongTextOfSignsToEscape_WhenWritten_ThenNoPieceIsMuchLongerThanTheOthers()
    {
        string text = new('"', 4_000_000);
        long before = GC.GetAllocatedBytesForCurrentThread();
        Task<List<byte[]>> writing = WriteAsync(text);
        Assert.True(writing.IsCompleted);
        // What is written, in pieces and once more for the test: as a whole it would take 48 MB more to escape.
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 8_000_000, 40_000_000);
        List<byte[]> pieces = await writing;
        Assert.Equal(8_000_002, pieces.Sum(piece => piece.Length));
        Assert.All(pieces, piece => Assert.InRange(piece.Length, 1, 128 << 10));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(12 << 10)]
    [InlineData((12 << 10) + 1)]
    [InlineData(1_000_003)]
    public async Task GivenBytes_WhenWritten_ThenTheyAreReadBackAndNoPieceIsMuchLongerThanTheOthers(int count)
    {
        byte[] bytes = new byte[count];
        new Random(1).NextBytes(bytes);
        List<byte[]> pieces = await WriteAsync(bytes);
        Assert.Equal(bytes, JsonSerializer.Deserialize<byte[]>([.. pieces.SelectMany(piece => piece)]));
        Assert.All(pieces, piece => Assert.InRange(piece.Length, 1, 128 << 10));
    }

    private static async Task<List<byte[]>> WriteAsync<T>(T value)
    {
        PipeReader reader = await ApiJson.WriteAsync(value);
        var pieces = new List<byte[]>();
        foreach (ReadOnlyMemory<byte> piece in (await reader.ReadAsync(TestContext.Current.CancellationToken)).Buffer)
            pieces.Add(piece.ToArray());
        await reader.CompleteAsync();
        return pieces;
    }
}
