using System.Globalization;
using System.Text;
using System.Text.Json;

namespace EQueue.Cli.Tests;

/// <summary>What <c>consume --json</c> prints, <c>send --json</c> takes: the same message, byte for byte.</summary>
public sealed class ThereAndBackTests : CommandTest
{
    private const int Count = 400;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData("consume a --queue 0 --json")]
    [InlineData("consume a --group g --format json")]
    [InlineData("find a --last 400 --json")]
    public async Task GivenMessagesOfAnyBytes_WhenPrintedAsJsonAndSentAgain_ThenTheyAreTheSame(string print)
    {
        int seed = Environment.TickCount;
        TestContext.Current.TestOutputHelper!.WriteLine(string.Create(CultureInfo.InvariantCulture, $"seed {seed}"));
        await FillAsync(new Random(seed));

        CliRun printed = await DoneAsync(print.Split(' '));
        CliRun sent = await CliRun.RunAsync(WithServer("send", "b", "--json"), printed.Output, Token);

        Assert.True(sent.ExitCode == ExitCode.Done, $"seed {seed}: {sent.Error}");
        (string[] before, string[] after) = (await ReadAsync("a"), await ReadAsync("b"));
        Assert.Equal(Count, before.Length);
        for (int i = 0; i < Count; i++)
            Assert.True(before[i] == after[i], $"seed {seed}, message {i}: {before[i]} became {after[i]}");
        foreach (string line in printed.OutputLines)
            AssertContract(JsonDocument.Parse(line).RootElement);
    }

    [Fact]
    public async Task GivenTextAlone_WhenPrintedAsJson_ThenThereAreTheKeysOfTheContractAndNoOthers()
    {
        await DoneAsync("send", "t", "body", "--key", "k", "--tag", "x", "--property", "a=1", "--property", "a=2");
        JsonElement message = JsonDocument.Parse(
            (await DoneAsync("consume", "t", "--group", "g", "--json")).OutputText).RootElement;
        Assert.Equal(9, message.EnumerateObject().Count());
    }

    [Theory]
    [InlineData("""{"body":"eA==","bdy":"eA=="}""", "unknown member 'bdy'")]
    [InlineData("""{"key":"k"}""", "'body' is missing")]
    [InlineData("""{"body":"no base64!"}""", "'body' is no base64")]
    [InlineData("""{"body":7}""", "'body' has number")]
    [InlineData("""{"body":null,"propertiesBase64":[["eA=="]]}""", "no pair")]
    [InlineData("""{"body":null,"properties":{"eq-tag":"x"}}""", "reserved")]
    [InlineData("""{"body":null,"key":"\ud800"}""", "Line 2")]
    [InlineData("nonsense", "Line 2")]
    public async Task GivenALineThatIsNoMessage_WhenSentAsJson_ThenTheErrorNamesLineAndMember(
        string line, string expected)
    {
        byte[] input = Encoding.UTF8.GetBytes($"{{\"body\":\"eA==\"}}\n{line}\n");
        CliRun run = await CliRun.RunAsync(WithServer("send", "t", "--lines", "-", "--format", "json"), input, Token);
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Contains("Line 2", run.Error, StringComparison.Ordinal);
        Assert.Contains(expected, run.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("Parameter", run.Error, StringComparison.Ordinal);
        Assert.Single((await DoneAsync("consume", "t", "--group", "g")).OutputLines);
    }

    private static void AssertContract(JsonElement message) => Assert.Equal(
        ["topic", "queue", "offset", "key", "tag", "properties", "body", "createTime", "storedTime"],
        message.EnumerateObject().Select(static member => member.Name).Take(9));

    private async Task FillAsync(Random random)
    {
        await DoneAsync("topic", "create", "a", "--queues", "1");
        await DoneAsync("topic", "create", "b", "--queues", "1");
        await using var client = new EQueueClient($"{Broker.EndPoint}");
        await using Producer producer = client.CreateProducer();
        for (int i = 0; i < Count; i++)
        {
            await producer.SendAsync(
                "a",
                new RecordContent
                {
                    Key = Bytes(random),
                    Tag = Bytes(random),
                    Body = Bytes(random),
                    Properties = Properties(random),
                },
                Token);
        }
    }

    /// <summary>None, empty, text, or any bytes.</summary>
    private static byte[]? Bytes(Random random)
    {
        int kind = random.Next(5);
        if (kind == 0)
            return null;
        byte[] bytes = new byte[kind == 1 ? 0 : random.Next(1, 9)];
        random.NextBytes(bytes);
        return kind is 2 or 3 ? bytes : Encoding.UTF8.GetBytes("ключ\u0000\u202e \"\\"[..random.Next(0, 8)]);
    }

    /// <summary>Names repeat, side by side and apart, and need not be text.</summary>
    private static RecordProperties Properties(Random random)
    {
        var properties = new RecordProperties();
        for (int i = random.Next(5); i > 0; i--)
        {
            byte[] name = random.Next(3) == 0 ? Bytes(random) ?? [] : [(byte)random.Next('a', 'd')];
            properties.Add(name.AsSpan(), Bytes(random));
        }

        return properties;
    }

    /// <summary>Every byte of every message, as text.</summary>
    private async Task<string[]> ReadAsync(string topic)
    {
        await using var client = new EQueueClient($"{Broker.EndPoint}");
        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync(topic, StartPosition.Begin, Token);
        var messages = new List<string>();
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            var text = new StringBuilder();
            text.Append(CultureInfo.InvariantCulture, $"key {(message.HasKey ? Hex(message.Key.Span) : "-")} ");
            string tag = message.Tag is null ? "-" : Hex(message.TagBytes.Span);
            text.Append(CultureInfo.InvariantCulture, $"tag {tag} ");
            text.Append(CultureInfo.InvariantCulture, $"body {(message.HasBody ? Hex(message.Body.Span) : "-")}");
            foreach (RecordProperty pair in message.Properties)
            {
                text.Append(CultureInfo.InvariantCulture, $" {Hex(pair.Name)}=");
                text.Append(pair.Value.HasValue ? Hex(pair.Value.Value) : "-");
            }

            messages.Add(text.ToString());
        }

        return [.. messages];
    }

    private static string Hex(ReadOnlySpan<byte> bytes) => $"'{Convert.ToHexString(bytes)}'";
}
