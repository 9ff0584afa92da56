using System.Text;
using System.Text.Json;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary><c>find</c> against a real broker, within this process.</summary>
public sealed class FindCommandTests : CommandTest
{
    [Fact]
    public async Task GivenAMessage_WhenFoundByItsPlace_ThenItIsPrintedAsConsumePrintsIt()
    {
        CliRun sent = await DoneAsync(
            "send", "t", "héllo", "--key", "clé", "--tag", "paid", "--property", "a=1", "--property", "a=2",
            "--receipts", "--json");
        string queue = JsonDocument.Parse(sent.OutputText).RootElement.GetProperty("queue").GetRawText();
        foreach (string[] format in new string[][]
                 { ["--json"], ["--format", "text"], ["--format", "raw"], ["--format", "json"], [] })
        {
            CliRun consumed = await DoneAsync(["consume", "t", "--queue", queue, .. format]);
            CliRun found = await DoneAsync(["find", "t", "--queue", queue, "--offset", "0", .. format]);
            Assert.Equal(consumed.Output, found.Output);
            Assert.NotEmpty(found.Output);
        }

        await FailsAsync(ExitCode.NotFound, "NotFound", "find", "t", "--queue", queue, "--offset", "1");
        await FailsAsync(ExitCode.NotFound, "UnknownQueue", "find", "t", "--queue", "4", "--offset", "0");
        await FailsAsync(ExitCode.NotFound, "UnknownTopic", "find", "nowhere", "--last", "1");
    }

    [Fact]
    public async Task GivenKeyedMessages_WhenFoundByKey_ThenThoseOfTheKeyComeWithinTheBounds()
    {
        string lines = string.Concat(Enumerable.Range(0, 60).Select(i => $"k{i % 3}:{i}\n"));
        await CliRun.RunAsync(
            WithServer("send", "t", "--lines", "-", "--key-separator", ":"), Encoding.UTF8.GetBytes(lines));
        string[] expected = [.. Enumerable.Range(0, 20).Select(i => $"{(i * 3) + 1}")];
        Assert.Equal(expected, (await DoneAsync("find", "t", "--key", "k1")).OutputLines);
        Assert.Equal(expected, (await DoneAsync("find", "t", "--key", "k1", "--all-queues")).OutputLines);
        CliRun some = await DoneAsync("find", "t", "--key", "k1", "--limit", "3");
        Assert.Equal(expected[..3], some.OutputLines);
        Assert.Contains("more than 3", some.Error, StringComparison.Ordinal);
        Assert.Equal(expected, (await DoneAsync("find", "t", "--key", "k1", "--since", "2020-01-31T10:00:00Z")).OutputLines);
        await FailsAsync(
            ExitCode.NotFound, "NotFound", "find", "t", "--key", "k1", "--until", "2020-01-31T10:00:00Z");
        await FailsAsync(ExitCode.NotFound, "NotFound", "find", "t", "--key", "absent", "--all-queues");
    }

    [Fact]
    public async Task GivenMessagesInAllQueues_WhenTheLastOrThoseSinceATimeAreAskedFor_ThenTheyCome()
    {
        for (int i = 0; i < 12; i++)
        {
            await DoneAsync("send", "t", $"{i}", "--key", $"{i}");

            // Messages of different queues are put in order by the millisecond in which they were stored.
            long sentMs = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();
            await Eventually.TrueAsync(() => DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() > sentMs);
        }

        CliRun last = await DoneAsync("find", "t", "--last", "5", "--json");
        Assert.Equal(5, last.OutputLines.Length);
        Assert.Equal(["7", "8", "9", "10", "11"], last.OutputLines.Select(BodyOf));
        Assert.Empty(last.Error);
        string since = JsonDocument.Parse(last.OutputLines[1]).RootElement.GetProperty("storedTime").GetString()!;
        Assert.Equal(["8", "9", "10", "11"], (await DoneAsync("find", "t", "--since", since)).OutputLines);
        Assert.Equal(["7"], (await DoneAsync(
            "find", "t", "--since", "2020-01-01T00:00:00", "--until", since)).OutputLines[^1..]);
        await FailsAsync(ExitCode.NotFound, "NotFound", "find", "t", "--since", "2120-01-01T00:00:00Z");
    }

    [Fact]
    public async Task GivenADamagedMessage_WhenItsKeyIsLookedFor_ThenTheOthersArePrintedAndTheExitCodeSaysPartly()
    {
        foreach (string body in new[] { "first-body", "second-body", "third-body" })
            await DoneAsync("send", "t", body, "--key", "k");
        string log = Assert.Single(Directory.GetFiles(PathOf("data"), "*.log", SearchOption.AllDirectories));
        using (FileStream file = new(log, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite))
        {
            byte[] bytes = new byte[64 << 10];
            int count = await file.ReadAtLeastAsync(bytes, bytes.Length, throwOnEndOfStream: false);
            file.Position = bytes.AsSpan(0, count).IndexOf("second-body"u8);
            file.WriteByte((byte)'X');
        }

        CliRun found = await CliRun.RunAsync(WithServer("find", "t", "--key", "k"));
        Assert.Equal(ExitCode.PartlyDone, found.ExitCode);
        Assert.Equal(["first-body", "third-body"], found.OutputLines);
        Assert.Contains("1 of the messages could not be looked into", found.Error, StringComparison.Ordinal);
    }

    private static string BodyOf(string line) => Encoding.UTF8.GetString(
        JsonDocument.Parse(line).RootElement.GetProperty("body").GetBytesFromBase64());
}
