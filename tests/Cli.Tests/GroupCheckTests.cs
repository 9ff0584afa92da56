using EQueue.Client;

namespace EQueue.Cli.Tests;

/// <summary><c>consume --group</c> before a person: what an application's group is to have is not taken by the
/// way.</summary>
public sealed class GroupCheckTests : CommandTest
{
    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        await DoneAsync("topic", "create", "orders", "--queues", "1");
        foreach (string body in new[] { "one", "two", "three" }) await DoneAsync("send", "orders", body);
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
    public async Task GivenANewGroupOrAScript_WhenConsumed_ThenThereIsNoQuestion()
    {
        Assert.Equal(3, (await OnTerminalAsync("consume", "orders", "--group", "mine")).OutputLines.Length);
        await DoneAsync("consume", "orders", "--group", "script", "--count", "1");
        Assert.Equal(["two", "three"], (await DoneAsync("consume", "orders", "--group", "script")).OutputLines);
    }

    private Task<CliRun> OnTerminalAsync(params string[] arguments) => CliRun.RunOnTerminalAsync(WithServer(arguments));
}
