using System.Text.Json;

namespace EQueue.Cli.Tests;

/// <summary><c>explain</c> against a real broker, within this process.</summary>
public sealed class ExplainCommandTests : CommandTest
{
    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        await DoneAsync("topic", "create", "orders", "--queues", "1");
        foreach (string tag in new[] { "paid", "paid", "open", "paid" })
            await DoneAsync("send", "orders", "body", "--tag", tag);
        await DoneAsync("consume", "orders", "--group", "billing", "--count", "1");
    }

    [Fact]
    public async Task GivenAMessageThatWasCommitted_WhenExplained_ThenItCountsAsConsumedAndTheFactsAreThere()
    {
        JsonElement told = await ExplainAsync(0, "billing");
        Assert.Equal(
            [
                "topic", "queue", "offset", "group", "instance", "standing", "storedTime", "tag", "start", "end",
                "tagsRead", "committed", "committedTime", "member", "sentences",
            ],
            told.EnumerateObject().Select(property => property.Name));
        Assert.Equal(
            ("committed", "paid", 0, 4, 1),
            (StandingOf(told), told.GetProperty("tag").GetString(), told.GetProperty("start").GetInt32(),
                told.GetProperty("end").GetInt32(), told.GetProperty("committed").GetInt32()));
        CliRun people = await DoneAsync("explain", "orders", "--queue", "0", "--offset", "0", "--group", "billing");
        Assert.Contains("orders/0 offset 0 is stored since", people.OutputText, StringComparison.Ordinal);
        Assert.Contains("billing has committed it", people.OutputText, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAGroupWithoutMembers_WhenAMessageIsExplained_ThenItIsSaidThatNobodyReads()
    {
        JsonElement told = await ExplainAsync(3, "billing");
        Assert.Equal("noMembers", StandingOf(told));
        string sentences = SentencesOf(told);
        Assert.Contains("billing has no members", sentences, StringComparison.Ordinal);
        Assert.Contains("Committed up to offset 1", sentences, StringComparison.Ordinal);
        Assert.Contains("2 before it are not committed either", sentences, StringComparison.Ordinal);
        Assert.Contains("equeue group describe billing", sentences, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAMemberThatHasNotCommitted_WhenExplained_ThenItIsToldInWhoseHandsTheMessageIs()
    {
        await using EQueueClient client = Reader("till-1");
        await using Consumer consumer = client.CreateConsumer("billing", ["orders"]);
        await consumer.JoinAsync(TestContext.Current.CancellationToken);
        JsonElement told = await ExplainAsync(1, "billing");
        Assert.Equal("inHands", StandingOf(told));
        JsonElement member = told.GetProperty("member");
        Assert.Equal("till-1", member.GetProperty("client").GetString());
        Assert.StartsWith("127.0.0.1", member.GetProperty("address").GetString(), StringComparison.Ordinal);
        Assert.True(member.GetProperty("sinceLastCallMs").GetInt64() >= 0);
        Assert.Contains("The queue is with till-1, at 127.0.0.1", SentencesOf(told), StringComparison.Ordinal);
        Assert.Contains("It is the next one", SentencesOf(told), StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAMemberOfOtherTags_WhenExplained_ThenTheMessageIsFilteredAndItsNeighbourIsNot()
    {
        await using EQueueClient client = Reader("till-1");
        await using Consumer consumer = client.CreateConsumer(
            "billing", ["orders"], new ConsumerOptions { Tags = ["paid"] });
        await consumer.JoinAsync(TestContext.Current.CancellationToken);
        JsonElement told = await ExplainAsync(2, "billing");
        Assert.Equal("filtered", StandingOf(told));
        Assert.Equal("paid", Assert.Single(told.GetProperty("tagsRead").EnumerateArray()).GetString());
        Assert.Contains("with the tag paid only", SentencesOf(told), StringComparison.Ordinal);
        Assert.Equal("inHands", StandingOf(await ExplainAsync(3, "billing")));
    }

    [Fact]
    public async Task GivenABroadcastGroup_WhenExplained_ThenEachInstanceHasItsOwnLine()
    {
        await using EQueueClient client = Reader("till-1");
        string[] names = ["left", "right"];
        List<Consumer> consumers = [];
        foreach (string name in names)
        {
            consumers.Add(client.CreateConsumer(
                "wall", ["orders"], new ConsumerOptions { IsBroadcast = true, InstanceId = name }));
            await consumers[^1].JoinAsync(TestContext.Current.CancellationToken);
        }

        CliRun run = await DoneAsync(
            "explain", "orders", "--queue", "0", "--offset", "1", "--group", "wall", "--json");
        JsonElement[] told = [.. run.OutputLines.Select(line => JsonDocument.Parse(line).RootElement)];
        Assert.Equal(names, told.Select(one => one.GetProperty("instance").GetString()).Order());
        Assert.All(told, one => Assert.Equal("inHands", StandingOf(one)));
        foreach (Consumer consumer in consumers)
            await consumer.DisposeAsync();
    }

    [Fact]
    public async Task GivenAnOffsetThatIsNotStoredYet_WhenExplained_ThenItSaysWhereTheQueueEnds()
    {
        JsonElement told = await ExplainAsync(4, "billing");
        Assert.Equal("notStored", StandingOf(told));
        Assert.Contains("the queue holds 0 to 3", SentencesOf(told), StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenMessagesThatRetentionTook_WhenExplained_ThenThoseNotCommittedAreExpired()
    {
        await DoneAsync("topic", "alter", "orders", "--retention-count", "1");
        await Support.Eventually.TrueAsync(async () => StandingOf(await ExplainAsync(2, "billing")) == "expired");
        Assert.Contains("retention", SentencesOf(await ExplainAsync(2, "billing")), StringComparison.Ordinal);
        Assert.Equal("committed", StandingOf(await ExplainAsync(0, "billing")));
    }

    [Fact]
    public async Task GivenAGroupOfAnotherTopic_WhenExplained_ThenItDoesNotReadThisOne()
    {
        await DoneAsync("send", "other", "body");
        await DoneAsync("consume", "other", "--group", "audit");
        Assert.Equal("notSubscribed", StandingOf(await ExplainAsync(0, "audit")));
    }

    [Fact]
    public async Task GivenAQueueThatMayNotBeRead_WhenExplained_ThenItSaysHowToOpenIt()
    {
        await DoneAsync("topic", "alter-queues", "orders", "--queue", "0", "--readable", "false");
        JsonElement told = await ExplainAsync(2, "billing");
        Assert.Equal("queueClosed", StandingOf(told));
        Assert.Contains("equeue topic alter-queues --help", SentencesOf(told), StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenADamagedMessage_WhenExplained_ThenItIsToldAsDamaged()
    {
        await using CliBroker broker = await CliBroker.StartAsync();
        string[] server = ["--server", broker.Address];
        await CliRun.RunAsync(["topic", "create", "t", "--queues", "1", .. server]);
        await CliRun.RunAsync(["send", "t", "body-to-damage", .. server]);
        await CliRun.RunAsync(["send", "t", "whole", .. server]);
        await CliRun.RunAsync(["group", "reset", "g", "--topic", "t", "--to", "begin", .. server]);
        await broker.StopAsync();
        string log = Assert.Single(Directory.GetFiles(broker.DataDirectory, "*.log", SearchOption.AllDirectories));
        byte[] bytes = await File.ReadAllBytesAsync(log, TestContext.Current.CancellationToken);
        bytes[bytes.AsSpan().IndexOf("body-to-damage"u8)] = (byte)'X';
        await File.WriteAllBytesAsync(log, bytes, TestContext.Current.CancellationToken);
        await broker.RestartAsync();
        CliRun run = await CliRun.RunAsync(
            ["explain", "t", "--queue", "0", "--offset", "0", "--group", "g", "--json", .. server]);
        Assert.Equal("damaged", StandingOf(JsonDocument.Parse(run.OutputText).RootElement));
    }

    [Fact]
    public async Task GivenWhatIsNotThere_WhenExplained_ThenTheExitCodeIsThree()
    {
        string[] place = ["--queue", "0", "--offset", "0"];
        await FailsAsync(ExitCode.NotFound, "UnknownTopic", ["explain", "none", .. place, "--group", "billing"]);
        await FailsAsync(ExitCode.NotFound, "UnknownGroup", ["explain", "orders", .. place, "--group", "none"]);
        await FailsAsync(
            ExitCode.NotFound, "UnknownQueue", "explain", "orders", "--queue", "7", "--offset", "0", "--group", "billing");
    }

    private async Task<JsonElement> ExplainAsync(long offset, string group) => await JsonOfAsync(
        "explain", "orders", "--queue", "0", "--offset", $"{offset}", "--group", group);

    private static string StandingOf(JsonElement told) => told.GetProperty("standing").GetString()!;

    private static string SentencesOf(JsonElement told) =>
        string.Join('\n', told.GetProperty("sentences").EnumerateArray().Select(one => one.GetString()));

    private EQueueClient Reader(string name) =>
        new(new ClientOptions { Addresses = $"{Broker.EndPoint}", ClientName = name });
}
