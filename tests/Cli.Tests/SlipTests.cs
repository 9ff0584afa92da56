namespace EQueue.Cli.Tests;

/// <summary>Slips of the pen: words that there are not, topics that a slip makes, queues that move keys.</summary>
public sealed class SlipTests : CommandTest
{
    [Theory]
    [InlineData("consme t --group g", "Did you mean 'consume'?")]
    [InlineData("topic lsit", "Did you mean 'list'?")]
    [InlineData("gruop list", "Did you mean 'group'?")]
    [InlineData("topc list", "Did you mean 'top' or 'topic'?")]
    [InlineData("send t body --tga x", "Did you mean '--tag'?")]
    [InlineData("send t body --tga=x", "Did you mean '--tag'?")]
    [InlineData("topic list --sever 127.0.0.1:1", "Did you mean '--server'?")]
    [InlineData("consume t --grop g", "Did you mean '--group'?")]
    [InlineData("acl alow user:u read topic:t", "Did you mean 'allow'?")]
    [InlineData("acl allow user:u wirte topic:t", "Did you mean 'write'?")]
    [InlineData("acl allow user:u consume topic:t", "Did you mean 'read'?")]
    [InlineData("acl allow user:u Produce topic:t", "Did you mean 'write'?")]
    [InlineData("acl allow user:u configure topic:t", "Did you mean 'alter'?")]
    [InlineData("acl allow user:u adminster broker", "Did you mean 'administer'?")]
    [InlineData("acl allow alice read topic:t", "Did you mean 'user:alice'?")]
    [InlineData("acl allow usr:alice read topic:t", "Did you mean 'user:alice'?")]
    [InlineData("acl allow anonymus read topic:t", "Did you mean 'anonymous'?")]
    [InlineData("acl allow user:u read orders", "Did you mean 'topic:orders'?")]
    [InlineData("acl allow user:u read topc:orders", "Did you mean 'topic:orders'?")]
    [InlineData("acl allow user:u describe borker", "Did you mean 'broker'?")]
    [InlineData("acl grant user:u produce topic:t", "Did you mean 'producer'?")]
    public async Task GivenAWordNearOneThatThereIs_WhenRun_ThenTheErrorAsksForIt(string line, string question)
    {
        CliRun run = await CliRun.RunAsync(line.Split(' '));
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Contains(question, run.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("xyzzy")]
    [InlineData("topic list --nope")]
    public async Task GivenAWordNearNone_WhenRun_ThenNothingIsGuessed(string line) => Assert.DoesNotContain(
        "Did you mean", (await CliRun.RunAsync(line.Split(' '))).Error, StringComparison.Ordinal);

    [Fact]
    public async Task GivenATopicThatIsNotThere_WhenSentTo_ThenItIsSaidThatItWasMadeAndWhichWasMeant()
    {
        await DoneAsync("topic", "create", "orders");
        Assert.DoesNotContain("created", (await DoneAsync("send", "orders", "x")).Error, StringComparison.Ordinal);
        CliRun slip = await DoneAsync("send", "ordres", "x");
        Assert.StartsWith(
            "created the topic ordres. Did you mean 'orders'?", slip.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("created", (await DoneAsync("send", "ordres", "x")).Error, StringComparison.Ordinal);
        Assert.DoesNotContain("mean", (await DoneAsync("send", "invoices", "x")).Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("group describe biling")]
    [InlineData("group lag Billing")]
    [InlineData("group delete billng --yes")]
    [InlineData("group reset bililng --to begin")]
    public async Task GivenAGroupNearOneThatThereIs_WhenNamed_ThenTheErrorAsksForIt(string line)
    {
        await DoneAsync("send", "orders", "x");
        await DoneAsync("consume", "orders", "--group", "billing");
        CliRun run = await CliRun.RunAsync(WithServer(line.Split(' ')));
        Assert.Equal(ExitCode.NotFound, run.ExitCode);
        Assert.Contains("Did you mean 'billing'?", run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenATopicWithMessages_WhenItIsToHaveMoreQueues_ThenItIsSaidThatKeysMoveAndAskedFor()
    {
        await DoneAsync("topic", "create", "orders", "--queues", "2");
        await DoneAsync("topic", "alter", "orders", "--queues", "3");
        await DoneAsync("send", "orders", "x", "--key", "k");
        string[] alter = ["topic", "alter", "orders", "--queues", "8"];
        CliRun asked = await CliRun.RunAsync(WithServer(alter));
        Assert.Equal(ExitCode.Usage, asked.ExitCode);
        Assert.Contains("keys go to other queues", asked.Error, StringComparison.Ordinal);
        Assert.Equal(3, (await DoneAsync("topic", "describe", "orders")).OutputLines.Length);
        CliRun many = await CliRun.RunAsync(WithServer("topic", "alter", "orders", "bills", "--queues", "8"));
        Assert.Equal(ExitCode.Usage, many.ExitCode);

        Assert.Equal(8, (await DoneAsync([.. alter, "--yes"])).OutputLines.Length);
        // Nothing else moves keys.
        await DoneAsync("topic", "alter", "orders", "--retention-age", "1d");
        await FailsAsync(ExitCode.Refused, "InvalidArgument", "topic", "alter", "orders", "--queues", "2");
    }

    [Theory]
    [InlineData("topic list --server host:port")]
    [InlineData("topic list --server ,")]
    [InlineData("send t body --property eq-tag=x")]
    [InlineData("forward --from 127.0.0.1:x/a --to 127.0.0.1:1/b")]
    public async Task GivenAValueThatTheLibraryRefuses_WhenRun_ThenNoParameterOfTheProgramIsNamed(string line)
    {
        CliRun run = await CliRun.RunAsync(line.Split(' '));
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.DoesNotContain("Parameter", run.Error, StringComparison.Ordinal);
    }
}
