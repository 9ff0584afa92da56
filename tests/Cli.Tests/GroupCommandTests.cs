using System.Text;
using System.Text.Json;

namespace EQueue.Cli.Tests;

/// <summary><c>group ...</c> against a real broker, within this process.</summary>
public sealed class GroupCommandTests : CommandTest
{
    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        await DoneAsync("topic", "create", "orders", "--queues", "1");
        await CliRun.RunAsync(WithServer("send", "orders", "--lines", "-"), Encoding.UTF8.GetBytes("a\nb\nc\nd\n"));
        await DoneAsync("consume", "orders", "--group", "billing", "--count", "3");
    }

    [Fact]
    public async Task GivenGroups_WhenListed_ThenEachIsALine()
    {
        await DoneAsync("group", "reset", "audit", "--topic", "orders", "--to", "end");
        Assert.Equal(
            ["audit\tshared\tempty\t0", "billing\tshared\tempty\t0"],
            (await DoneAsync("group", "list")).OutputLines);
        Assert.Equal(
            [
                """{"group":"audit","kind":"shared","state":"empty","memberCount":0}""",
                """{"group":"billing","kind":"shared","state":"empty","memberCount":0}""",
            ],
            (await DoneAsync("group", "list", "--json")).OutputLines);
    }

    [Fact]
    public async Task GivenAGroup_WhenDescribed_ThenItsLagIsTold()
    {
        CliRun people = await DoneAsync("group", "describe", "billing");
        Assert.Matches(@"^orders\t0\t-\t3\t0\t4\t1\t\d+$", Assert.Single(people.OutputLines));
        Assert.Contains("billing: shared, empty, 0 members", people.Error, StringComparison.Ordinal);

        JsonElement group = await JsonOfAsync("group", "describe", "billing");
        Assert.Equal(
            ["group", "kind", "state", "backlog", "generation", "members", "queues"],
            group.EnumerateObject().Select(property => property.Name));
        JsonElement queue = Assert.Single(group.GetProperty("queues").EnumerateArray());
        Assert.Equal(
            [
                "topic", "queue", "owner", "target", "instanceId", "committed", "committedTime", "start", "end", "lag",
                "lagMs", "instance",
            ],
            queue.EnumerateObject().Select(property => property.Name));
        Assert.Equal(
            ("orders", 3, 4, 1),
            (queue.GetProperty("topic").GetString(), queue.GetProperty("committed").GetInt32(),
                queue.GetProperty("end").GetInt32(), queue.GetProperty("lag").GetInt32()));
        Assert.Equal(JsonValueKind.Null, queue.GetProperty("owner").ValueKind);
        Assert.EndsWith("Z", queue.GetProperty("committedTime").GetString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenALiveMember_WhenDescribedResetOrDeleted_ThenItIsToldAndTheRestIsRefused()
    {
        await using var client = new EQueueClient(
            new ClientOptions { Addresses = $"{Broker.EndPoint}", ClientName = "reader" });
        await using Consumer consumer = client.CreateConsumer("billing", ["orders"]);
        await consumer.JoinAsync(TestContext.Current.CancellationToken);
        JsonElement group = await JsonOfAsync("group", "describe", "billing");
        JsonElement member = Assert.Single(group.GetProperty("members").EnumerateArray());
        Assert.Equal("reader", member.GetProperty("client").GetString());
        Assert.Equal("orders", member.GetProperty("topics")[0].GetProperty("topic").GetString());
        Assert.Equal(
            member.GetProperty("member").GetString(), group.GetProperty("queues")[0].GetProperty("owner").GetString());
        CliRun people = await DoneAsync("group", "describe", "billing");
        Assert.StartsWith("orders\t0\treader\t", people.OutputText, StringComparison.Ordinal);

        await FailsAsync(ExitCode.Refused, "GroupBusy", "group", "reset", "billing", "--to", "begin");
        await FailsAsync(ExitCode.Refused, "GroupBusy", "group", "delete", "billing", "--yes");
        await FailsAsync(ExitCode.Refused, "GroupBusy", "group", "delete", "billing", "--dry-run");
    }

    [Fact]
    public async Task GivenAGroup_WhenReset_ThenItReadsFromThereAndADryRunChangesNothing()
    {
        CliRun preview = await DoneAsync("group", "reset", "billing", "--to", "by:-2", "--dry-run");
        Assert.Equal(["orders\t0\t3\t1\t-"], preview.OutputLines);
        Assert.Contains("nothing was changed", preview.Error, StringComparison.Ordinal);
        Assert.Equal(
            """{"topic":"orders","queue":0,"from":3,"to":0,"error":null,"preview":true}""",
            Assert.Single((await DoneAsync(
                "group", "reset", "billing", "--to", "time:2020-01-01T00:00:00Z", "--dry-run", "--json")).OutputLines));

        CliRun reset = await DoneAsync(
            "group", "reset", "billing", "--topic", "orders", "--queue", "0", "--to", "by:-2");
        Assert.Equal(["orders\t0\t3\t1\t-"], reset.OutputLines);
        Assert.Equal(["b", "c", "d"], (await DoneAsync("consume", "orders", "--group", "billing")).OutputLines);
        await DoneAsync("group", "reset", "billing", "--to", "offset:3");
        Assert.Equal(["d"], (await DoneAsync("consume", "orders", "--group", "billing")).OutputLines);
    }

    [Fact]
    public async Task GivenADryRun_WhenTopicsGroupsOrQuotasWouldGo_ThenItTellsWhatAndAllIsAsItWas()
    {
        CliRun topic = await DoneAsync("topic", "delete", "orders", "--dry-run");
        Assert.Matches(@"^orders would be deleted with up to 4 messages, \d+ bytes; nothing was changed", topic.Error);
        Assert.Matches(
            """^{"topic":"orders","messages":4,"bytes":\d+,"preview":true}\n$""",
            (await DoneAsync("topic", "delete", "orders", "--yes", "--dry-run", "--json")).OutputText);
        await DoneAsync("topic", "describe", "orders");
        await FailsAsync(ExitCode.NotFound, "UnknownTopic", "topic", "delete", "nope", "--dry-run");

        CliRun group = await DoneAsync("group", "delete", "billing", "--dry-run");
        Assert.Equal(
            "billing would be deleted with its progress in 1 queue; nothing was changed", group.Error.TrimEnd());
        Assert.Equal(
            """{"group":"billing","topic":"orders","queues":1,"preview":true}""",
            Assert.Single((await DoneAsync(
                "group", "delete", "billing", "--topic", "orders", "--dry-run", "--json")).OutputLines));
        await DoneAsync("group", "describe", "billing");
        await FailsAsync(ExitCode.NotFound, "UnknownGroup", "group", "delete", "nobody", "--dry-run");

        await DoneAsync("quota", "set", "topic", "orders", "--request-rate", "50");
        Assert.Contains(
            "nothing was changed", (await DoneAsync("quota", "remove", "topic", "orders", "--dry-run")).Error,
            StringComparison.Ordinal);
        Assert.Single((await DoneAsync("quota", "list")).OutputLines);
        await FailsAsync(ExitCode.NotFound, "NotFound", "quota", "remove", "topic", "nope", "--dry-run");
    }

    [Fact]
    public async Task GivenWhatIsNotThere_WhenAskedFor_ThenTheExitCodeIsThree()
    {
        await FailsAsync(ExitCode.NotFound, "UnknownGroup", "group", "describe", "nobody");
        await FailsAsync(ExitCode.NotFound, "UnknownGroup", "group", "reset", "nobody", "--to", "begin");
        await FailsAsync(ExitCode.NotFound, "UnknownGroup", "group", "delete", "nobody", "--yes");
        await FailsAsync(
            ExitCode.NotFound, "UnknownTopic", "group", "reset", "billing", "--topic", "none", "--to", "end");
        await FailsAsync(ExitCode.Usage, "InvalidName", "group", "describe", "no/slash");
    }

    [Fact]
    public async Task GivenQueuesThatCannotBeReset_WhenSomeOrAll_ThenTheExitCodeTellsWhich()
    {
        string[] reset = ["group", "reset", "billing", "--topic", "orders", "--to", "begin", "--queue", "5"];
        CliRun none = await CliRun.RunAsync(WithServer(reset));
        Assert.Equal(ExitCode.NotFound, none.ExitCode);
        Assert.Equal(["orders\t5\t-\t-\tUnknownQueue"], none.OutputLines);
        CliRun some = await CliRun.RunAsync(WithServer([.. reset, "--queue", "0"]));
        Assert.Equal(ExitCode.PartlyDone, some.ExitCode);
        Assert.Equal(["orders\t0\t3\t0\t-", "orders\t5\t-\t-\tUnknownQueue"], some.OutputLines);
        Assert.Contains("1 of 2 queues", some.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAGroup_WhenDeleted_ThenItIsGone()
    {
        Assert.Equal(
            """{"deleted":"billing","topic":"orders"}""",
            Assert.Single((await DoneAsync(
                "group", "delete", "billing", "--topic", "orders", "--yes", "--json")).OutputLines));
        await DoneAsync("group", "reset", "billing", "--topic", "orders", "--to", "end");
        Assert.Contains("deleted billing", (await DoneAsync("group", "delete", "billing", "--yes")).Error,
            StringComparison.Ordinal);
        Assert.Empty((await DoneAsync("group", "list")).Output);
        Assert.Equal(4, (await DoneAsync("consume", "orders", "--group", "billing")).OutputLines.Length);
    }
}
