using System.Text.Json;

namespace EQueue.Cli.Tests;

public sealed class UsageTests
{
    public static TheoryData<string> WrongCommands =>
    [
        "",
        "nope",
        "topic",
        "topic create",
        "topic create t --lines x",
        "topic describe",
        "topic delete a b",
        "topic create t --queues 0",
        "topic create t --queues many",
        "topic create t --retention-age 10001d",
        "topic create t --max-backlog -1",
        "topic create t --backlog-policy sometimes",
        "topic create t --max-message-bytes 0",
        "topic alter t",
        "topic alter t --retention-bytes much",
        "topic alter-queues t --writable false",
        "topic alter-queues t --queue 1",
        "topic alter-queues t --queue 5-3 --writable false",
        "topic alter-queues t --queue 1,x --writable false",
        "topic alter-queues t --queue -1 --writable false",
        "topic alter-queues t --queue 1,,2 --writable false",
        "topic alter-queues t --queue 0-99999999 --writable false",
        "topic alter-queues t --queue 1 --writable maybe",
        "topic delete t",
        "send t",
        "send t body --lines x",
        "send t body --file x",
        "send t body --key-separator :",
        "send t --lines x --key k --key-separator :",
        "send t body --rate 0",
        "send t body --rate -5",
        "send t body --durability sometimes",
        "send t body --property novalue",
        "send t body --property eq-tag=x",
        "consume t",
        "consume t --group g --queue 0",
        "consume t --queue -1",
        "consume t --queue 0 --from nowhere",
        "consume t --queue 0 --count 0",
        "consume t --queue 0 --format xml",
        "consume t --queue 0 --idle-exit soon",
        "consume t --queue 0 --timeout never",
        "forward",
        "forward --from 127.0.0.1:1/a",
        "forward --from 127.0.0.1:1/a --to 127.0.0.1:1",
        "forward --from /a --to 127.0.0.1:1/b",
        "forward --from 127.0.0.1:1/a --to 127.0.0.1:1/no!name",
        "forward --from 127.0.0.1:x/a --to 127.0.0.1:1/b",
        "forward --from 127.0.0.1:1/a --to 127.0.0.1:1/b --group no/slash",
        "forward --from 127.0.0.1:1/a --to 127.0.0.1:1/b --count 0",
        "forward --from 127.0.0.1:1/a --to 127.0.0.1:1/b --start nowhere",
        "forward --from 127.0.0.1:1/a --to 127.0.0.1:1/b --durability sometimes",
        "forward --from 127.0.0.1:1/a --to 127.0.0.1:1/b --idle-exit soon",
        "forward --from 127.0.0.1:1/a --to 127.0.0.1:1/b --server 127.0.0.1:1",
        "find t",
        "find t --offset 1",
        "find t --queue 0",
        "find t --queue 0 --offset -1",
        "find t --queue -1 --offset 1",
        "find t --queue 0 --offset 1 --key k",
        "find t --queue 0 --offset 1 --limit 2",
        "find t --until 2026-01-31T10:00:00Z",
        "find t --last 0",
        "find t --last 10001",
        "find t --last 1 --since 2026-01-31T10:00:00Z",
        "find t --key k --limit 0",
        "find t --key k --queue 0 --all-queues",
        "find t --since 2026-01-31T10:00:00Z --all-queues",
        "find t --since yesterday",
        "find t --since 01/02/2026",
        "find t --key k --until 10:00",
        "group reset g --to time:10:00",
        "consume t --queue 0 --from time:01/02/2026",
        "send t body --format json",
        "send t --lines x --format xml",
        "send t --lines x --format json --key k",
        "group",
        "group describe",
        "group reset g",
        "group reset g --to somewhere",
        "group reset g --to by:x",
        "group reset g --to begin --queue 0",
        "group reset g --to begin --topic t --queue -1",
        "group delete g",
        "explain",
        "explain t --queue 0 --offset 0",
        "explain t --queue 0 --group g",
        "explain t --queue -1 --offset 0 --group g",
        "explain t --queue 0 --offset -1 --group g",
        "group lag --interval 1s",
        "group lag --watch --interval 50ms",
        "top --interval soon",
        "top --rows 0",
        "user",
        "user add",
        "user add no/slash",
        "user add u --no-password --new-password-file f",
        "user add u --group no/slash --no-password",
        "user passwd",
        "user groups u",
        "user groups u g --none",
        "token",
        "token create",
        "token create u --expires soon",
        "token create u --expires 3651d",
        "token create u --expires 1d --no-expiry",
        "token revoke",
        "acl",
        "acl allow",
        "acl allow alice read topic:t",
        "acl allow usr:alice read topic:t",
        "acl allow user: read topic:t",
        "acl allow user:no/slash read topic:t",
        "acl allow local:alice read topic:t",
        "acl allow cert: read topic:t",
        "acl allow me read topic:t",
        "acl allow owner read topic:t",
        "acl test * read topic:t",
        "acl test group:g read topic:t",
        "acl allow user:u reed topic:t",
        "acl allow user:u READ topic:t",
        "acl allow user:u read t",
        "acl allow user:u read topic:",
        "acl allow user:u read topic:a*b",
        "acl allow user:u read topic:no/slash*",
        "acl allow user:u read topic:..",
        "acl allow user:u read broker:x",
        "acl allow user:u read broker",
        "acl allow user:u write group:g",
        "acl allow user:u create group:g",
        "acl allow user:u administer topic:t",
        "acl allow user:u alter broker",
        "acl remove user:u read topic:t",
        "acl remove permit user:u read topic:t",
        "acl test user:u all topic:t",
        "acl test user:u read topic:t*",
        "acl test user:u write group:g",
        "acl grant user:u",
        "acl grant user:u admin",
        "acl grant user:u producer",
        "acl grant user:u producer group:g",
        "acl grant user:u producer topic:t group:g",
        "acl grant user:u consumer topic:t",
        "acl grant user:u consumer group:g",
        "topic list --user u --token-file f",
        "topic list --password-file f",
        "topic list --user u",
        "context add prod --server 127.0.0.1:1 --user u --token-file f",
        "context add prod --server 127.0.0.1:1 --password-file f",
        "context add prod --server 127.0.0.1:1 --token-file /nowhere/at/all",
        "context",
        "context add",
        "context add prod",
        "context add no/slash --server 127.0.0.1:1",
        "context add prod --server host:port",
        "context use",
        "backup",
        "backup a b",
        "backup a --rate 0",
        "backup a --rate fast",
        "backup a --verify --data b",
        "backup a --verify --rate 1",
        "restore",
        "restore a --data",
        "perf --seconds 0",
        "perf --seconds 61",
        "perf --size 15",
        "perf --queues 0",
        "perf --rate 0",
        "topic list --server host:port",
        "topic list --nope",
    ];

    [Theory]
    [MemberData(nameof(WrongCommands))]
    public async Task GivenAWrongCommand_WhenRun_ThenTheExitCodeIsTwoAndStandardOutputStaysEmpty(string line)
    {
        CliRun run = await CliRun.RunAsync(line.Split(' ', StringSplitOptions.RemoveEmptyEntries));
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Empty(run.Output);
        Assert.StartsWith("equeue: ", run.Error, StringComparison.Ordinal);
        Assert.Matches(@"\nnext: equeue [a-z -]*--help shows what it takes\r?\n$", run.Error);
    }

    [Fact]
    public async Task GivenAWrongCommandWithJson_WhenRun_ThenTheErrorIsAJsonLine()
    {
        CliRun run = await CliRun.RunAsync("send", "t", "--json");
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        JsonElement error = JsonDocument.Parse(run.Error).RootElement.GetProperty("error");
        Assert.Equal("Usage", error.GetProperty("code").GetString());
        Assert.NotEmpty(error.GetProperty("message").GetString()!);
        Assert.Equal("equeue send --help shows what it takes", error.GetProperty("next").GetString());
        Assert.False(error.GetProperty("retriable").GetBoolean());
    }

    [Theory]
    [InlineData("--help", "topic")]
    [InlineData("send --help", "--key-separator")]
    [InlineData("consume --help", "--idle-exit")]
    [InlineData("forward --help", "--start")]
    [InlineData("find --help", "equeue find orders --key customer-7")]
    [InlineData("group reset --help", "--dry-run")]
    [InlineData("--version", "3.0.0")]
    public async Task GivenAQuestion_WhenRun_ThenTheAnswerIsOnStandardOutput(string line, string expected)
    {
        CliRun run = await CliRun.RunAsync(line.Split(' '));
        Assert.Equal(ExitCode.Done, run.ExitCode);
        Assert.Contains(expected, run.OutputText, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAFileThatIsNotThere_WhenSent_ThenTheExitCodeIsThree()
        => Assert.Equal(
            ExitCode.NotFound, (await CliRun.RunAsync("send", "t", "--lines", "/nowhere/at/all")).ExitCode);

    [Theory]
    [InlineData("topic list")]
    [InlineData("group list")]
    [InlineData("send t body")]
    [InlineData("consume t --queue 0")]
    [InlineData("find t --last 1")]
    [InlineData("explain t --queue 0 --offset 0 --group g")]
    [InlineData("group lag --watch")]
    [InlineData("top")]
    [InlineData("perf")]
    public async Task GivenNoBroker_WhenRun_ThenTheExitCodeIsFourWithinTheTimeout(string line)
    {
        string[] arguments = [.. line.Split(' '), "--server", "127.0.0.1:1", "--timeout", "300ms", "--json"];
        CliRun run = await CliRun.RunAsync(arguments);
        Assert.Equal(ExitCode.Unreachable, run.ExitCode);
        JsonElement error = JsonDocument.Parse(run.Error).RootElement.GetProperty("error");
        Assert.True(error.GetProperty("retriable").GetBoolean());
        Assert.Contains("equeue-server", error.GetProperty("next").GetString(), StringComparison.Ordinal);
    }
}
