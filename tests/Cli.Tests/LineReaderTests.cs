using System.Text;
using EQueue.Cli.Input;

namespace EQueue.Cli.Tests;

public sealed class LineReaderTests
{
    [Theory]
    [InlineData("", 0)]
    [InlineData("a", 1)]
    [InlineData("a\n", 1)]
    [InlineData("\n", 1)]
    [InlineData("a\n\nb", 3)]
    [InlineData("a\r\nb\n", 2)]
    public async Task GivenText_WhenReadByLines_ThenOnlyLineFeedsAreTakenAway(string text, int count)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(text);
        List<byte[]> lines = await ReadAllAsync(new MemoryStream(bytes), 1 << 20);
        Assert.Equal(count, lines.Count);
        string joined = string.Join('\n', lines.Select(Encoding.UTF8.GetString));
        Assert.Equal(text.EndsWith('\n') ? text[..^1] : text, joined);
    }

    [Fact]
    public async Task GivenBytesThatAreNoText_WhenReadByLines_ThenTheyComeUntouched()
    {
        byte[] bytes = [0xff, 0x00, 0xc3, (byte)'\n', 0x80, (byte)'\r'];
        List<byte[]> lines = await ReadAllAsync(new MemoryStream(bytes), 1 << 20);
        Assert.Equal([0xff, 0x00, 0xc3], lines[0]);
        Assert.Equal([0x80, (byte)'\r'], lines[1]);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(4096)]
    public async Task GivenAStreamThatGivesFewBytesAtATime_WhenReadByLines_ThenEveryLineIsWhole(int bytesAtATime)
    {
        int seed = Random.Shared.Next();
        var random = new Random(seed);
        List<byte[]> expected = [.. Enumerable.Range(0, 200).Select(_ => RandomLine(random, 3_000))];
        byte[] all = [.. expected.SelectMany(line => line.Append((byte)'\n'))];
        List<byte[]> lines = await ReadAllAsync(new SlowStream(all, bytesAtATime), 1 << 20);
        Assert.True(expected.Count == lines.Count, $"seed {seed}");
        Assert.All(expected.Zip(lines), pair => Assert.Equal(pair.First, pair.Second));
    }

    [Fact]
    public async Task GivenALineLongerThanTheBuffer_WhenRead_ThenItIsWhole()
    {
        byte[] line = RandomLine(new Random(1), 1 << 20);
        List<byte[]> lines = await ReadAllAsync(new MemoryStream([.. line, (byte)'\n', (byte)'x']), 2 << 20);
        Assert.Equal(line, lines[0]);
        Assert.Equal("x"u8.ToArray(), lines[1]);
    }

    [Fact]
    public async Task GivenALineBeyondTheLimit_WhenRead_ThenTheMessageNamesTheLine()
    {
        var reader = new LineReader(new MemoryStream("ab\nabcdef\n"u8.ToArray()), 5);
        Assert.True(await reader.ReadAsync(CancellationToken.None));
        UsageException refused =
            await Assert.ThrowsAsync<UsageException>(async () => await reader.ReadAsync(CancellationToken.None));
        Assert.Contains("Line 2", refused.Message, StringComparison.Ordinal);
    }

    private static byte[] RandomLine(Random random, int mostBytes)
    {
        byte[] line = new byte[random.Next(mostBytes)];
        random.NextBytes(line);
        line.AsSpan().Replace((byte)'\n', (byte)' ');
        return line;
    }

    private static async Task<List<byte[]>> ReadAllAsync(Stream stream, int maxLineBytes)
    {
        var reader = new LineReader(stream, maxLineBytes);
        var lines = new List<byte[]>();
        while (await reader.ReadAsync(CancellationToken.None))
        {
            lines.Add(reader.Current.ToArray());
            Assert.Equal(lines.Count, reader.LineNumber);
        }

        return lines;
    }

    private sealed class SlowStream(byte[] bytes, int atATime) : MemoryStream(bytes)
    {
        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
            => base.ReadAsync(buffer[..Math.Min(atATime, buffer.Length)], cancellationToken);
    }
}
