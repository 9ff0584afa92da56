using System.Text;
using System.Text.Json;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>The commands against a real broker, within this process.</summary>
public sealed class CommandTests : CommandTest
{
    [Fact]
    public async Task GivenATopic_WhenCreatedListedDescribedAndDeleted_ThenEachCommandTellsItsState()
    {
        JsonElement created = await JsonOfAsync("topic", "create", "orders", "--queues", "3");
        Assert.Equal("orders", created.GetProperty("topic").GetString());
        Assert.Equal(3, created.GetProperty("queues").GetArrayLength());
        await DoneAsync("topic", "create", "bills");

        CliRun list = await DoneAsync("topic", "list");
        Assert.Equal(["bills\t4", "orders\t3"], list.OutputLines);
        CliRun listed = await DoneAsync("topic", "list", "--json");
        Assert.Equal(["bills", "orders"], listed.OutputLines.Select(
            line => JsonDocument.Parse(line).RootElement.GetProperty("topic").GetString()));

        await DoneAsync("send", "orders", "x", "--key", "k");
        JsonElement described = await JsonOfAsync("topic", "describe", "orders");
        Assert.Equal(1, described.GetProperty("queues").EnumerateArray().Sum(queue => queue.GetProperty("end").GetInt64()));
        Assert.Equal(3, (await DoneAsync("topic", "describe", "orders")).OutputLines.Length);

        await FailsAsync(ExitCode.Refused, "TopicExists", "topic", "create", "orders");
        await DoneAsync("topic", "delete", "orders", "--yes");
        await FailsAsync(ExitCode.NotFound, "UnknownTopic", "topic", "describe", "orders");
        await FailsAsync(ExitCode.NotFound, "UnknownTopic", "topic", "delete", "orders", "--yes");
        await FailsAsync(ExitCode.Usage, "InvalidName", "topic", "create", "no/slash");
    }

    [Fact]
    public async Task GivenSettings_WhenATopicIsCreatedAndAltered_ThenTheyHoldAndTheOthersStay()
    {
        JsonElement made = await JsonOfAsync(
            "topic", "create", "t", "--retention-age", "30d", "--retention-bytes", "2GiB", "--retention-count", "500",
            "--max-message-bytes", "64KiB", "--max-backlog", "128", "--backlog-policy", "reject", "--backlog-groups", "a,b");
        Assert.Equal(
            (2_592_000_000L, 2L << 30, 500L, 65_536L, 128L, 0L, "reject", "a,b"),
            (Number(made, "retentionAgeMs"), Number(made, "retentionBytes"), Number(made, "retentionCount"),
                Number(made, "maxMessageBytes"), Number(made, "maxBacklogMessages"), Number(made, "maxBacklogBytes"),
                made.GetProperty("backlogPolicy").GetString(), made.GetProperty("backlogGroups").GetString()));

        JsonElement altered = await JsonOfAsync(
            "topic", "alter", "t", "--queues", "6", "--retention-age", "0", "--max-backlog", "0",
            "--max-backlog-bytes", "1MiB", "--backlog-policy", "drop-oldest", "--backlog-groups", "");
        Assert.Equal(6, altered.GetProperty("queues").GetArrayLength());
        Assert.Equal(
            (0L, 2L << 30, 0L, 1L << 20, "drop-oldest", ""),
            (Number(altered, "retentionAgeMs"), Number(altered, "retentionBytes"), Number(altered, "maxBacklogMessages"),
                Number(altered, "maxBacklogBytes"), altered.GetProperty("backlogPolicy").GetString(),
                altered.GetProperty("backlogGroups").GetString()));
        Assert.Contains("drop-oldest", (await DoneAsync("topic", "describe", "t")).Error, StringComparison.Ordinal);
        await FailsAsync(ExitCode.NotFound, "UnknownTopic", "topic", "alter", "none", "--queues", "2");
        await FailsAsync(ExitCode.Refused, "InvalidArgument", "topic", "alter", "t", "--queues", "2");
    }

    [Fact]
    public async Task GivenQueues_WhenTheyAreAltered_ThenTheDescriptionTellsWhatTheyTake()
    {
        await DoneAsync("topic", "create", "t", "--queues", "6");
        await DoneAsync("send", "t", "x", "--key", "k");
        CliRun altered = await DoneAsync("topic", "alter-queues", "t", "--queue", "1,3-5", "--writable", "false");
        Assert.Equal(
            ["open", "not writable, drained", "open"],
            altered.OutputLines[..3].Select(line => line.Split('\t')[^1]));
        JsonElement topic = await JsonOfAsync(
            "topic", "alter-queues", "t", "--queue", "4", "--writable", "true", "--readable", "false");
        Assert.Equal(
            ["open", "not writable, drained", "open", "not writable, drained", "not readable", "not writable, drained"],
            (await DoneAsync("topic", "describe", "t")).OutputLines.Select(line => line.Split('\t')[^1]));
        Assert.Equal(
            [(true, true, false), (false, true, true), (true, true, false), (false, true, true), (true, false, false),
                (false, true, true)],
            topic.GetProperty("queues").EnumerateArray().Select(queue => (
                queue.GetProperty("writable").GetBoolean(),
                queue.GetProperty("readable").GetBoolean(),
                queue.GetProperty("drained").GetBoolean())));
        topic = await JsonOfAsync("topic", "alter-queues", "t", "--queue", "all", "--writable", "true", "--readable", "true");
        Assert.All(topic.GetProperty("queues").EnumerateArray(), queue => Assert.True(
            queue.GetProperty("writable").GetBoolean() && queue.GetProperty("readable").GetBoolean()));
        await FailsAsync(
            ExitCode.Refused, "InvalidArgument", "topic", "alter-queues", "t", "--queue", "6", "--writable", "false");
        await FailsAsync(
            ExitCode.NotFound, "UnknownTopic", "topic", "alter-queues", "none", "--queue", "0", "--writable", "false");
    }

    private static long Number(JsonElement json, string name) => json.GetProperty(name).GetInt64();

    [Fact]
    public async Task GivenAMessageWithEverything_WhenConsumedAsJson_ThenEveryPartIsThere()
    {
        CliRun sent = await DoneAsync(
            "send", "t", "héllo", "--key", "clé", "--tag", "paid", "--property", "a=1", "--property", "a=2",
            "--property", "b=x=y", "--durability", "durable", "--receipts", "--json");
        JsonElement receipt = JsonDocument.Parse(sent.OutputText).RootElement;
        Assert.Equal(
            ["topic", "queue", "offset", "storedTime", "durability"],
            receipt.EnumerateObject().Select(property => property.Name));
        Assert.Equal("durable", receipt.GetProperty("durability").GetString());

        string queue = receipt.GetProperty("queue").GetRawText();
        JsonElement message = await JsonOfAsync("consume", "t", "--queue", queue);
        Assert.Equal(
            ["topic", "queue", "offset", "key", "tag", "properties", "body", "createTime", "storedTime"],
            message.EnumerateObject().Select(property => property.Name));
        Assert.Equal("héllo", Encoding.UTF8.GetString(message.GetProperty("body").GetBytesFromBase64()));
        Assert.Equal("clé", message.GetProperty("key").GetString());
        Assert.Equal("paid", message.GetProperty("tag").GetString());
        Assert.Equal("""{"a":["1","2"],"b":"x=y"}""", message.GetProperty("properties").GetRawText());
        Assert.Equal(receipt.GetProperty("storedTime").GetString(), message.GetProperty("storedTime").GetString());
        Assert.EndsWith("Z", message.GetProperty("createTime").GetString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenLinesOfBytes_WhenSentAndConsumedRaw_ThenTheOutputIsTheInput()
    {
        byte[] input = [.. "a\n\n"u8, 0xff, 0x00, 0xc3, (byte)'\r', (byte)'\n', .. "last without end"u8];
        CliRun sent = await CliRun.RunAsync(WithServer("send", "raw", "--lines", "-", "--key", "one", "--receipts"), input);
        Assert.Equal(ExitCode.Done, sent.ExitCode);
        Assert.Equal(4, sent.OutputLines.Length);
        Assert.Contains("sent 4 messages to raw", sent.Error, StringComparison.Ordinal);

        CliRun read = await DoneAsync("consume", "raw", "--group", "g");
        Assert.Equal([.. input, (byte)'\n'], read.Output);
    }

    [Fact]
    public async Task GivenKeyedLines_WhenSent_ThenTheKeyEndsAtTheFirstSeparator()
    {
        await CliRun.RunAsync(WithServer("send", "keyed", "--lines", "-", "--key-separator", "\\t"), "k\tb\tc\n\tempty\n"u8.ToArray());
        CliRun read = await DoneAsync("consume", "keyed", "--group", "g", "--json");
        string[] pairs = [.. read.OutputLines
            .Select(line => JsonDocument.Parse(line).RootElement)
            .Select(m => $"{m.GetProperty("key").GetString()}={Encoding.UTF8.GetString(m.GetProperty("body").GetBytesFromBase64())}")
            .Order(StringComparer.Ordinal)];
        Assert.Equal(["=empty", "k=b\tc"], pairs);
    }

    [Fact]
    public async Task GivenALineWithoutItsSeparator_WhenSent_ThenTheUsageErrorNamesTheLine()
    {
        CliRun sent = await CliRun.RunAsync(
            WithServer("send", "t", "--lines", "-", "--key-separator", ":"), "a:1\nb:2\nnone\nc:3\n"u8.ToArray());
        Assert.Equal(ExitCode.Usage, sent.ExitCode);
        Assert.Contains("Line 3", sent.Error, StringComparison.Ordinal);
        Assert.Equal(2, (await DoneAsync("consume", "t", "--group", "g")).OutputLines.Length);
    }

    [Fact]
    public async Task GivenAMessageThatIsTooLarge_WhenItIsTheOnlyOneOrOneOfMany_ThenTheExitCodeTellsWhich()
    {
        byte[] large = new byte[(4 << 20) + 1];
        await File.WriteAllBytesAsync(PathOf("large"), large);
        await FailsAsync(ExitCode.Refused, "MessageTooLarge", "send", "t", "--file", PathOf("large"));
        CliRun partly = await CliRun.RunAsync(
            WithServer("send", "t", "--lines", "-", "--json"), [.. "first\n"u8, .. large, (byte)'\n', .. "never\n"u8]);
        Assert.Equal(ExitCode.PartlyDone, partly.ExitCode);
        JsonElement error = JsonDocument.Parse(partly.Error).RootElement.GetProperty("error");
        Assert.Equal("MessageTooLarge", error.GetProperty("code").GetString());
        // The line behind it may be on its way by the time the refusal is known.
        Assert.Matches("^sent (1 message|2 messages) to t .*; 1 failed: ", error.GetProperty("message").GetString());
    }

    [Fact]
    public async Task GivenAGroup_WhenItConsumesInParts_ThenEachMessageIsPrintedOnce()
    {
        await SendLinesAsync("parts", 100, "--key", "k");
        CliRun first = await DoneAsync("consume", "parts", "--group", "g", "--count", "30");
        Assert.Equal(Enumerable.Range(0, 30).Select(i => $"{i}"), first.OutputLines);
        CliRun rest = await DoneAsync("consume", "parts", "--group", "g");
        Assert.Equal(Enumerable.Range(30, 70).Select(i => $"{i}"), rest.OutputLines);
        Assert.Empty((await DoneAsync("consume", "parts", "--group", "g")).Output);
        Assert.Equal(100, (await DoneAsync("consume", "parts", "--group", "other")).OutputLines.Length);
    }

    [Fact]
    public async Task GivenAQueue_WhenReadFromAPlace_ThenItBeginsThere()
    {
        await DoneAsync("topic", "create", "places", "--queues", "1");
        await SendLinesAsync("places", 10);
        Assert.Equal("7", (await DoneAsync("consume", "places", "--queue", "0", "--from", "offset:7")).OutputLines[0]);
        Assert.Equal(10, (await DoneAsync("consume", "places", "--queue", "0", "--from", "begin")).OutputLines.Length);
        Assert.Empty((await DoneAsync("consume", "places", "--queue", "0", "--from", "end")).OutputLines);
        Assert.Equal(10, (await DoneAsync(
            "consume", "places", "--queue", "0", "--from", "time:2020-01-01T00:00:00Z")).OutputLines.Length);
        await FailsAsync(ExitCode.NotFound, "UnknownQueue", "consume", "places", "--queue", "9");
        await FailsAsync(ExitCode.NotFound, "UnknownTopic", "consume", "nowhere", "--queue", "0");
        await FailsAsync(ExitCode.NotFound, "UnknownTopic", "consume", "nowhere", "--group", "g");
    }

    [Fact]
    public async Task GivenTags_WhenOneIsAskedFor_ThenOnlyItsMessagesCome()
    {
        await DoneAsync("send", "tagged", "a", "--tag", "x");
        await DoneAsync("send", "tagged", "b", "--tag", "y");
        await DoneAsync("send", "tagged", "c");
        Assert.Equal(["b"], (await DoneAsync("consume", "tagged", "--group", "g", "--tag", "y")).OutputLines);
    }

    [Fact]
    public async Task GivenAFollower_WhenNothingComes_ThenItEndsAfterTheIdleTime()
    {
        await SendLinesAsync("followed", 3, "--key", "k");
        CliRun read = await DoneAsync("consume", "followed", "--group", "g", "--follow", "--idle-exit", "5s");
        Assert.Equal(["0", "1", "2"], read.OutputLines);
        Assert.Empty((await DoneAsync("consume", "followed", "--group", "g")).Output);
    }

    [Fact]
    public async Task GivenAFollower_WhenInterrupted_ThenItCommitsWhatItPrintedAndSaysSo()
    {
        await SendLinesAsync("stopped", 3, "--key", "k");
        using var interrupted = new CancellationTokenSource();
        Task<CliRun> follower = CliRun.RunAsync(
            WithServer("consume", "stopped", "--group", "g", "--follow", "--count", "1000"), [], interrupted.Token);
        await Eventually.TrueAsync(async () => (await DoneAsync("topic", "describe", "stopped")).ExitCode == 0
            && Broker.CollectStats().Find("broker.parkedFetches") > 0);
        await interrupted.CancelAsync();
        CliRun read = await follower;
        Assert.Equal(ExitCode.Interrupted, read.ExitCode);
        Assert.Equal(["0", "1", "2"], read.OutputLines);
        Assert.Empty((await DoneAsync("consume", "stopped", "--group", "g")).Output);
    }

    [Fact]
    public async Task GivenTextFormat_WhenConsumed_ThenPeopleSeeWhereAMessageIs()
    {
        await DoneAsync("send", "people", "hello", "--key", "k", "--tag", "x", "--property", "n=v");
        string line = Assert.Single((await DoneAsync("consume", "people", "--group", "g", "--format", "text")).OutputLines);
        Assert.Matches(@"^\d:0 \S+Z key=k tag=x n=v hello$", line);
    }

    private Task<CliRun> SendLinesAsync(string topic, int count, params string[] arguments) => CliRun.RunAsync(
        WithServer(["send", topic, "--lines", "-", .. arguments]),
        Encoding.UTF8.GetBytes(string.Concat(Enumerable.Range(0, count).Select(i => $"{i}\n"))));
}
