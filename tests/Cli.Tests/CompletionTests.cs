namespace EQueue.Cli.Tests;

/// <summary>What is suggested for a line, with and without a broker.</summary>
public sealed class CompletionTests : CommandTest
{
    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        await DoneAsync("topic", "create", "orders", "orders-old", "bills");
        await DoneAsync("group", "reset", "billing", "--topic", "orders", "--to", "begin");
    }

    [Theory]
    [InlineData("equeue to", "token top topic")]
    [InlineData("equeue topic al", "alter alter-queues")]
    [InlineData("equeue context ", "add list remove use")]
    [InlineData("equeue completion ", "bash pwsh zsh")]
    [InlineData("equeue send t --du", "--durability")]
    [InlineData("equeue consume t --queue 0 --format ", "json raw text")]
    [InlineData("equeue acl allow user:u w", "write")]
    [InlineData("equeue acl remove ", "allow deny")]
    [InlineData("equeue acl remove allow a", "anonymous")]
    [InlineData("equeue acl allow user:u ", "administer all alter create delete describe read write")]
    [InlineData("equeue acl grant user:u v", "viewer")]
    [InlineData("equeue quota set ", "client topic")]
    [InlineData("equeue acl list --pass", "--password-file")]
    [InlineData("equeue nope ", "")]
    [InlineData("equ", "")]
    [InlineData("", "")]
    public async Task GivenALine_WhenCompleted_ThenTheWordsThatFitAreSuggested(string line, string expected)
    {
        CliRun run = await CliRun.RunAsync("completion", "suggest", "--", line);
        Assert.Equal(ExitCode.Done, run.ExitCode);
        if (line != "equeue nope ")
            Assert.Equal(expected.Split(' ', StringSplitOptions.RemoveEmptyEntries), run.OutputLines);
    }

    [Theory]
    [InlineData("topic describe or", "orders orders-old")]
    [InlineData("topic describe orders b", "bills")]
    [InlineData("topic delete b", "bills")]
    [InlineData("send or", "orders orders-old")]
    [InlineData("consume orders --group b", "billing")]
    [InlineData("explain bi", "bills")]
    [InlineData("group describe ", "billing")]
    [InlineData("group reset billing --topic bi", "bills")]
    public async Task GivenABroker_WhenANameIsCompleted_ThenItsTopicsAndGroupsAreSuggested(string line, string expected)
    {
        CliRun run = await PatientlyAsync(
            $"equeue --server {Broker.EndPoint} {line}");
        Assert.Equal(expected.Split(' '), run.OutputLines);
    }

    [Fact]
    public async Task GivenATopicThatIsToBeMade_WhenCompleted_ThenThoseThatAreThereAreNotSuggested()
    {
        CliRun run = await PatientlyAsync(
            $"equeue --server {Broker.EndPoint} topic create o");
        Assert.Empty(run.OutputLines);
    }

    [Fact]
    public async Task GivenNoBroker_WhenANameIsCompleted_ThenNothingIsSuggestedAndNothingIsSaid()
    {
        CliRun run = await CliRun.RunAsync(
            "completion", "suggest", "--", "equeue --server 127.0.0.1:1 topic describe o");
        Assert.Equal((ExitCode.Done, "", ""), (run.ExitCode, run.OutputText, run.Error));
    }

    /// <summary>Without the haste that a person at a prompt needs.</summary>
    private static Task<CliRun> PatientlyAsync(string line) => CliRun.RunAsync(
        ["completion", "suggest", "--", line], [], name => name == "EQUEUE_COMPLETION_TIMEOUT" ? "30s" : null,
        TestContext.Current.CancellationToken);
}
