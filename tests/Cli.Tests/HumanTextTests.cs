using EQueue.Cli.Input;

namespace EQueue.Cli.Tests;

/// <summary>Sizes and times: for people on a terminal, exact everywhere else.</summary>
public sealed class HumanTextTests : CommandTest
{
    [Theory]
    [InlineData(0, "0 B")]
    [InlineData(134, "134 B")]
    [InlineData(1024, "1 KiB")]
    [InlineData(1500, "1500 B")]
    [InlineData(4 << 20, "4 MiB")]
    [InlineData((5 << 19) + 1, "2.5 MiB")]
    [InlineData(123_456_789, "117 MiB")]
    public void GivenBytes_WhenShownToPeople_ThenTheyHaveAUnit(long bytes, string text) =>
        Assert.Equal(text, HumanText.Size(bytes));

    [Theory]
    [InlineData(0, "0 ms", "0ms")]
    [InlineData(812, "812 ms", "812ms")]
    [InlineData(30_000, "30 s", "30s")]
    [InlineData(1_080_000, "18 min", "18m")]
    [InlineData(90_000, "90 s", "90s")]
    [InlineData(86_400_000, "1 d", "1d")]
    [InlineData(604_800_000, "7 d", "7d")]
    [InlineData(129_600_001, "36 h", "129600001ms")]
    public void GivenATime_WhenShownToPeople_ThenItHasAUnit(long milliseconds, string text, string typed)
    {
        Assert.Equal(text, HumanText.Time(TimeSpan.FromMilliseconds(milliseconds)));
        Assert.Equal(typed, DurationText.Of(TimeSpan.FromMilliseconds(milliseconds)));
    }

    [Fact]
    public async Task GivenATopicAndAGroup_WhenDescribed_ThenPeopleSeeUnitsAndScriptsTheNumbers()
    {
        await DoneAsync("topic", "create", "t", "--queues", "1", "--max-message-bytes", "4MiB");
        await DoneAsync("topic", "alter", "t", "--retention-age", "7d");
        await DoneAsync("send", "t", new string('x', 5_000));
        await DoneAsync("group", "reset", "g", "--topic", "t", "--to", "begin");

        CliRun people = await CliRun.RunOnTerminalAsync(WithServer("topic", "describe", "t"));
        Assert.Contains("largest message: 4 MiB", people.Error, StringComparison.Ordinal);
        Assert.Contains("retention: 7 d", people.Error, StringComparison.Ordinal);
        Assert.Matches(@"4\.\d KiB", people.OutputText);
        Assert.Matches(
            @"│ \d+(\.\d)? (ms|s|min) +│",
            (await CliRun.RunOnTerminalAsync(WithServer("group", "describe", "g"))).OutputText);

        CliRun script = await DoneAsync("topic", "describe", "t");
        Assert.Contains(
            "retention: 7.00:00:00, any bytes, any messages a queue; largest message: 4194304 bytes",
            script.Error, StringComparison.Ordinal);
        Assert.Matches(@"^t\t0\t0\t1\t\d{4}\t", script.OutputText);
        Assert.Matches(@"\t\d+\n$", (await DoneAsync("group", "describe", "g")).OutputText);
    }

    [Fact]
    public async Task GivenTwoMembersOfOneProcess_WhenTheirGroupIsDescribed_ThenTheirQueuesAreToldApart()
    {
        await DoneAsync("topic", "create", "t", "--queues", "2");
        await using var client = new EQueueClient(
            new ClientOptions { Addresses = $"{Broker.EndPoint}", ClientName = "till" });
        await using Consumer first = client.CreateConsumer("g", ["t"]);
        await using Consumer second = client.CreateConsumer("g", ["t"]);
        await first.JoinAsync(TestContext.Current.CancellationToken);
        await second.JoinAsync(TestContext.Current.CancellationToken);
        await Support.Eventually.TrueAsync(async () =>
        {
            string[] owners =
                [.. (await DoneAsync("group", "describe", "g")).OutputLines.Select(line => line.Split('\t')[2])];
            return owners.Distinct().Count() == 2
                && owners.All(owner => owner.StartsWith("till#", StringComparison.Ordinal));
        });
    }
}
