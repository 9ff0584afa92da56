using System.CommandLine;
using System.Globalization;
using System.Text;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>What peers and stored data say to a person's terminal: every verb is asked, on a terminal.</summary>
public sealed class TerminalTests
{
    /// <summary>Every verb with a command line that has it print; a verb that is missing here fails a test.</summary>
    private static readonly Dictionary<string, string> Lines = new(StringComparer.Ordinal)
    {
        ["topic create"] = "t",
        ["topic alter"] = "t --retention-bytes 1",
        ["topic alter-queues"] = "t --queue 0 --writable false",
        ["topic list"] = "",
        ["topic describe"] = "t",
        ["topic delete"] = "t --yes --dry-run",
        ["send"] = "t body --receipts",
        ["consume"] = "t --queue 0",
        ["forward"] = "--from SERVER/t --to SERVER/u",
        ["find"] = "t --last 1",
        ["explain"] = "t --queue 0 --offset 0 --group g",
        ["group list"] = "",
        ["group describe"] = "g",
        ["group lag"] = "",
        ["group reset"] = "g --to begin",
        ["group delete"] = "g --yes",
        ["top"] = "--once --interval 100ms",
        ["quota set"] = "client c --produce-rate 1",
        ["quota remove"] = "client c",
        ["quota list"] = "",
        ["user add"] = "u --no-password",
        ["user passwd"] = "u",
        ["user disable"] = "u",
        ["user enable"] = "u",
        ["user groups"] = "u --none",
        ["user remove"] = "u",
        ["user list"] = "",
        ["token create"] = "u",
        ["token revoke"] = "t",
        ["token list"] = "",
        ["acl allow"] = "user:u read topic:t",
        ["acl deny"] = "user:u read topic:t",
        ["acl remove"] = "allow user:u read topic:t",
        ["acl list"] = "",
        ["acl test"] = "me read topic:t",
        ["acl grant"] = "user:u viewer",
        ["perf"] = "--seconds 1",
        ["context add"] = "c --server SERVER",
        ["context list"] = "",
        ["context use"] = "c",
        ["context remove"] = "c",
        ["log verify"] = "nowhere",
        ["log inspect"] = "nowhere",
        ["backup"] = "nowhere --data nowhere",
        ["restore"] = "nowhere --data nowhere",
        ["cluster create"] = "--nodes a,b --etcd http://127.0.0.1:1",
        ["cluster adopt"] = "--data nowhere --node a --nodes a,b --etcd http://127.0.0.1:1",
        ["cluster status"] = "--etcd http://127.0.0.1:1",
        ["cluster elect"] = "a --accept-loss --etcd http://127.0.0.1:1",
        ["completion bash"] = "",
        ["completion zsh"] = "",
        ["completion pwsh"] = "",
    };

    /// <summary>Those whose answer has a text of the broker's that they print.</summary>
    private static readonly string[] Quoting =
    [
        "topic create", "topic alter", "topic alter-queues", "topic list", "topic describe", "topic delete",
        "explain", "group list", "group describe", "group lag", "group reset", "top", "quota list",
        "user list", "token create", "token list", "acl list", "acl test",
    ];

    /// <summary>Those that ask no broker.</summary>
    private static readonly string[] Local = ["cluster", "context", "log", "backup", "restore", "completion"];

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public void GivenEveryVerb_WhenCountedHere_ThenNoneIsMissing() =>
        Assert.Equal(CliVerbs.All().Order(StringComparer.Ordinal), Lines.Keys.Order(StringComparer.Ordinal));

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenAHostileBroker_WhenEachVerbPrintsItsAnswer_ThenTheTerminalIsCommandedNothing(bool isJson)
    {
        await using HostileBroker broker = await HostileBroker.StartAsync();
        foreach ((string verb, string rest) in Lines)
        {
            (string output, string error) = await RunAsync(broker, verb, rest, isJson);
            AssertPlain(verb, output, error);
            if (Quoting.Contains(verb))
                AssertShown(verb, output + error);
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenABrokerThatRefusesWithCommands_WhenEachVerbTellsTheError_ThenTheTerminalIsCommandedNothing(
        bool refusesHello)
    {
        await using HostileBroker broker = await HostileBroker.StartAsync();
        (broker.Refusal, broker.RefusesHello) = (ErrorCode.NotAuthorized, refusesHello);
        foreach ((string verb, string rest) in Lines.Where(line => !Local.Contains(line.Key.Split(' ')[0])))
        {
            (string output, string error) = await RunAsync(broker, verb, rest, isJson: false);
            AssertPlain(verb, output, error);
            AssertShown(verb, error);
            Assert.DoesNotContain("\n0\tforged", error, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("consume t --group g --yes --format raw")]
    [InlineData("consume t --group g --yes --format text")]
    [InlineData("consume t --group g --yes --format json")]
    [InlineData("find t --last 1 --format raw")]
    [InlineData("find t --last 1 --format text")]
    [InlineData("find t --last 1 --format json")]
    [InlineData("explain t --queue 0 --offset 0 --group g")]
    public async Task GivenAStoredMessageOfCommands_WhenShownOnATerminal_ThenItsTextIsSeenAndNotObeyed(string line)
    {
        await using CliBroker broker = await CliBroker.StartAsync();
        await FillAsync(broker);
        using var output = new MemoryStream();
        await using var error = new StringWriter();

        int exitCode = await CliProgram.RunAsync(
            [.. line.Split(' '), "--server", broker.Address], OnTerminal(output, error), Token);

        Assert.True(exitCode == ExitCode.Done, error.ToString());
        AssertPlain(line, Encoding.UTF8.GetString(output.ToArray()), error.ToString());
        AssertShown(line, Encoding.UTF8.GetString(output.ToArray()));
    }

    [Fact]
    public async Task GivenAStoredMessageOfCommands_WhenItsBytesAreWanted_ThenAPipeOrTheSwitchGivesThemExactly()
    {
        await using CliBroker broker = await CliBroker.StartAsync();
        byte[] body = await FillAsync(broker);
        CliRun piped = await CliRun.RunAsync("consume", "t", "--queue", "0", "--server", broker.Address);
        Assert.Equal([.. body, (byte)'\n'], piped.Output);

        foreach (string line in new[] { "consume t --queue 0 --unescaped", "find t --last 1 --unescaped" })
        {
            using var output = new MemoryStream();
            await using var error = new StringWriter();
            await CliProgram.RunAsync([.. line.Split(' '), "--server", broker.Address], OnTerminal(output, error), Token);
            Assert.Equal([.. body, (byte)'\n'], output.ToArray());
        }
    }

    [Theory]
    [InlineData("topic list", Opcode.ListTopics)]
    [InlineData("group list", Opcode.ListGroups)]
    [InlineData("group lag", Opcode.ListGroups)]
    [InlineData("top --once --interval 100ms", Opcode.ListTopics)]
    [InlineData("user list", Opcode.ListUsers)]
    [InlineData("token list", Opcode.ListTokens)]
    [InlineData("acl list", Opcode.ListRules)]
    public async Task GivenABrokerThatAlwaysHasMore_WhenItsListIsRead_ThenTheCommandEndsAndSaysWhy(
        string line, Opcode opcode)
    {
        await using HostileBroker broker = await HostileBroker.StartAsync();
        broker.AlwaysHasMore = true;
        CliRun run = await CliRun.RunAsync([.. line.Split(' '), "--server", broker.Address])
            .WaitAsync(TimeSpan.FromSeconds(60), Token);
        Assert.Equal(ExitCode.Failed, run.ExitCode);
        Assert.Contains("not in order", run.Error, StringComparison.Ordinal);
        Assert.InRange(broker.Asked[opcode], 1, 2);
    }

    /// <returns>The body.</returns>
    private static async Task<byte[]> FillAsync(CliBroker broker)
    {
        await broker.Client.Admin.CreateTopicAsync(
            "t", new TopicSettings { QueueCount = 1 }, cancellationToken: Token);
        await broker.Client.Admin.ResetGroupOffsetsAsync("g", ResetPosition.Begin, "t", cancellationToken: Token);
        // 0x9b alone is a C1 control in terminals of 8 bits, and no UTF-8.
        byte[] body = [.. Encoding.UTF8.GetBytes(HostileBroker.Text), 0x9b, (byte)'m', 0xe2, 0x82];
        // Producers of this version refuse such a tag and such a name; those of others do not.
        var properties = new RecordProperties();
        properties.Add(Encoding.UTF8.GetBytes(HostileBroker.Text), Encoding.UTF8.GetBytes(HostileBroker.Text));
        var record = new RecordContent
        {
            Body = body,
            Key = Encoding.UTF8.GetBytes(HostileBroker.Text),
            Tag = Encoding.UTF8.GetBytes(HostileBroker.Text),
            Properties = properties,
        };
        var builder = new RecordBatchBuilder();
        byte[] batch = new byte[4096];
        builder.Reset(batch, 1_700_000_000_000);
        Assert.True(builder.TryAppend(record, 1_700_000_000_000));
        await broker.StoreBelowAsync("t", 0, batch[..builder.Complete(ProducerSession.None, -1)]);
        return body;
    }

    private static async Task<(string Output, string Error)> RunAsync(
        HostileBroker broker, string verb, string rest, bool isJson)
    {
        using var directory = new TempDirectory();
        string line = $"{verb} {rest}".Replace("SERVER", broker.Address, StringComparison.Ordinal);
        string[] arguments =
        [
            .. line.Split(' ', StringSplitOptions.RemoveEmptyEntries), "--timeout", "2s",
            .. isJson ? ["--json"] : Array.Empty<string>(),
            .. rest.Contains("SERVER", StringComparison.Ordinal) ? [] : new[] { "--server", broker.Address },
        ];
        if (verb == "send")
            arguments = [.. arguments, "--delivery-timeout", "1s"];
        using var output = new MemoryStream();
        await using var error = new StringWriter();
        CliStreams streams = OnTerminal(output, error) with { Variable = name => name == "HOME" ? directory["."] : null };
        await CliProgram.RunAsync(arguments, streams, Token);
        return (Encoding.UTF8.GetString(output.ToArray()), error.ToString());
    }

    private static CliStreams OnTerminal(Stream output, TextWriter error) =>
        new(Stream.Null, output, error, IsTerminal: true) { IsErrorTerminal = true, Variable = _ => null };

    private static void AssertPlain(string what, string output, string error)
    {
        foreach (Rune rune in (output + error).EnumerateRunes())
        {
            bool isHarmless = rune.Value is '\n' or '\t' || Rune.GetUnicodeCategory(rune)
                is not (UnicodeCategory.Control or UnicodeCategory.Format
                    or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator);
            Assert.True(isHarmless && rune != Rune.ReplacementChar, $"{what}: U+{rune.Value:X4} in {output}{error}");
        }
    }

    /// <summary>A table may have cut the text into several lines of a column.</summary>
    private static void AssertShown(string what, string text)
    {
        string joined = string.Concat(text.Where(one => !char.IsWhiteSpace(one) && one != '│'));
        Assert.True(
            joined.Contains("\\u001b", StringComparison.Ordinal) || text.Contains("\\u001", StringComparison.Ordinal),
            $"{what}: {text}");
    }
}
