namespace EQueue.Cli.Tests;

/// <summary><c>consume --group</c> before a person: what an application's group is to have is not taken by the
/// way.</summary>
public sealed class GroupCheckTests : CommandTest
{
    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        await DoneAsync("topic", "create", "orders", "--queues", "1");
        foreach (string body in new[] { "one", "two", "three" })
            await DoneAsync("send", "orders", body);
    }

    [Fact]
    public async Task GivenAGroupWithProgress_WhenAPersonConsumesAsIt_ThenNothingIsTakenUntilItIsAskedForTwice()
    {
        await DoneAsync("consume", "orders", "--group", "billing", "--count", "1");
        CliRun asked = await OnTerminalAsync("consume", "orders", "--group", "billing");
        Assert.Equal(ExitCode.Usage, asked.ExitCode);
        Assert.Empty(asked.Output);
        Assert.Contains("billing has 2 messages of orders to consume", asked.Error, StringComparison.Ordinal);
        Assert.Contains("--yes", asked.Error, StringComparison.Ordinal);

        CliRun really = await OnTerminalAsync("consume", "orders", "--group", "billing", "--yes");
        Assert.Equal(["two", "three"], really.OutputLines);
        // Nothing is left to take: no question.
        Assert.Equal(ExitCode.Done, (await OnTerminalAsync("consume", "orders", "--group", "billing")).ExitCode);
    }

    [Fact]
    public async Task GivenAGroupWithMembers_WhenAPersonConsumesAsIt_ThenItsMembersKeepTheirQueues()
    {
        await using var client = new EQueueClient($"{Broker.EndPoint}");
        await using Consumer consumer = client.CreateConsumer("billing", ["orders"]);
        await consumer.JoinAsync(TestContext.Current.CancellationToken);
        CliRun asked = await OnTerminalAsync("consume", "orders", "--group", "billing");
        Assert.Equal(ExitCode.Usage, asked.ExitCode);
        Assert.Contains("billing has 1 member", asked.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAGroupThatIsCaughtUp_WhenAPersonFollowsAsIt_ThenWhatComesNextIsNotTakenUnasked()
    {
        await DoneAsync("consume", "orders", "--group", "billing");
        CliRun asked = await OnTerminalAsync("consume", "orders", "--group", "billing", "--follow");
        Assert.Equal(ExitCode.Usage, asked.ExitCode);
        Assert.Contains("billing has progress in orders", asked.Error, StringComparison.Ordinal);
        Assert.Contains("What comes next is printed here and committed", asked.Error, StringComparison.Ordinal);
        Assert.Contains("--yes", asked.Error, StringComparison.Ordinal);

        await DoneAsync("send", "orders", "four");
        CliRun really = await OnTerminalAsync(
            "consume", "orders", "--group", "billing", "--follow", "--count", "1", "--yes");
        Assert.Equal(["four"], really.OutputLines);
    }

    [Fact]
    public async Task GivenANewGroup_WhenAPersonFollowsAsIt_ThenThereIsNoQuestion()
    {
        CliRun run = await OnTerminalAsync("consume", "orders", "--group", "mine", "--follow", "--count", "3");
        Assert.Equal(["one", "two", "three"], run.OutputLines);
    }

    [Fact]
    public async Task GivenAGroupWithMembers_WhenAPersonForwardsAsIt_ThenItsMembersKeepTheirQueuesAndNothingIsMade()
    {
        await using var client = new EQueueClient($"{Broker.EndPoint}");
        await using Consumer consumer = client.CreateConsumer("billing", ["orders"]);
        await consumer.JoinAsync(TestContext.Current.CancellationToken);
        CliRun asked = await ForwardAsync("--group", "billing");
        Assert.Equal(ExitCode.Usage, asked.ExitCode);
        Assert.Contains("billing has 1 member that is no forwarder", asked.Error, StringComparison.Ordinal);
        Assert.Contains("--yes", asked.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("copies", (await DoneAsync("topic", "list")).OutputText, StringComparison.Ordinal);

        CliRun really = await ForwardAsync("--group", "billing", "--idle-exit", "1ms", "--yes");
        Assert.True(really.ExitCode == ExitCode.Done, really.Error);
    }

    [Fact]
    public async Task GivenAForwarderThatRanBefore_WhenAPersonStartsItAgain_ThenThereIsNoQuestion()
    {
        Assert.Contains("forwarded 3 messages", (await ForwardAsync("--group", "mirror")).Error, StringComparison.Ordinal);
        await DoneAsync("send", "orders", "four");
        Assert.Contains("forwarded 1 message ", (await ForwardAsync("--group", "mirror")).Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAForwarderThatDied_WhenAPersonStartsItAgain_ThenThereIsNoQuestion()
    {
        await using var died = new EQueueClient(new ClientOptions
        {
            Addresses = $"{Broker.EndPoint}",
            ClientName = "equeue-forward/4711",
        });
        await using Consumer consumer = died.CreateConsumer("mirror", ["orders"]);
        await consumer.JoinAsync(TestContext.Current.CancellationToken);
        CliRun run = await ForwardAsync("--group", "mirror", "--idle-exit", "1ms");
        Assert.True(run.ExitCode == ExitCode.Done, run.Error);
    }

    [Fact]
    public async Task GivenANewGroupOrAScript_WhenConsumed_ThenThereIsNoQuestion()
    {
        Assert.Equal(3, (await OnTerminalAsync("consume", "orders", "--group", "mine")).OutputLines.Length);
        await DoneAsync("consume", "orders", "--group", "script", "--count", "1");
        Assert.Equal(["two", "three"], (await DoneAsync("consume", "orders", "--group", "script")).OutputLines);
    }

    private Task<CliRun> ForwardAsync(params string[] arguments) => CliRun.RunOnTerminalAsync(
        ["forward", "--from", $"{Broker.EndPoint}/orders", "--to", $"{Broker.EndPoint}/copies", .. arguments]);

    private Task<CliRun> OnTerminalAsync(params string[] arguments) => CliRun.RunOnTerminalAsync(WithServer(arguments));
}
