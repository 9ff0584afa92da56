using System.Text;
using System.Text.Json;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>The verbs of <c>topic</c> for many topics at once, against a real broker.</summary>
public sealed class TopicBulkTests : IAsyncLifetime
{
    private CliBroker _broker = null!;

    public async ValueTask InitializeAsync() => _broker = await CliBroker.StartAsync();

    public ValueTask DisposeAsync() => _broker.DisposeAsync();

    [Fact]
    public async Task GivenSeveralNames_WhenCreatedAlteredDescribedAndDeleted_ThenEachIsToldInTheirOrder()
    {
        CliRun created = await RunAsync("topic", "create", "c", "a", "b", "--queues", "2", "--json");
        Assert.Equal(["c", "a", "b"], Names(created));
        Assert.Contains("created 3 topics", created.Error, StringComparison.Ordinal);

        CliRun altered = await RunAsync("topic", "alter", "a", "b", "--retention-count", "7", "--json");
        Assert.Equal([7L, 7], altered.OutputLines.Select(line => Number(line, "retentionCount")));

        CliRun described = await RunAsync("topic", "describe", "b", "c");
        Assert.Equal(
            ["b\t0", "b\t1", "c\t0", "c\t1"],
            described.OutputLines.Select(line => string.Join('\t', line.Split('\t').Take(2))));
        Assert.Contains("b: retention: ", described.Error, StringComparison.Ordinal);

        CliRun deleted = await RunAsync("topic", "delete", "a", "b", "--yes", "--json");
        Assert.Equal(["{\"deleted\":\"a\"}", "{\"deleted\":\"b\"}"], deleted.OutputLines);
        Assert.Equal(["c\t2"], (await RunAsync("topic", "list")).OutputLines);
    }

    [Fact]
    public async Task GivenNamesOnStandardInput_WhenCreatedAndDescribed_ThenMoreThanAWindowOfThemIsThere()
    {
        string[] names = [.. Enumerable.Range(0, 600).Select(number => $"t{number:D4}")];
        byte[] lines = Encoding.UTF8.GetBytes(string.Join("\r\n", names) + "\n\n");

        CliRun created = await RunWithAsync(lines, "topic", "create", "--lines", "-", "--queues", "1", "--json");
        CliRun described = await RunWithAsync(lines, "topic", "describe", "--lines", "-", "--json");

        Assert.Equal(ExitCode.Done, created.ExitCode);
        Assert.Equal(names, Names(created));
        Assert.Equal(names, Names(described));
        Assert.Equal(names, (await RunAsync("topic", "list", "--json")).OutputLines.Select(Name));
    }

    [Fact]
    public async Task GivenOneNameThatIsRefused_WhenCreated_ThenTheErrorNamesItAndTheOthersAreMade()
    {
        await _broker.Client.Admin.CreateTopicAsync("old");

        CliRun json = await RunFailingAsync(ExitCode.PartlyDone, "topic", "create", "a", "old", "b", "--json");
        Assert.Equal(["a", "b"], Names(json));
        JsonElement[] errors = [.. json.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(line => JsonDocument.Parse(line).RootElement.GetProperty("error"))];
        Assert.Equal("old", errors[0].GetProperty("topic").GetString());
        Assert.Equal(["TopicExists", "TopicExists"], errors.Select(error => error.GetProperty("code").GetString()));
        Assert.StartsWith(
            "created 2 topics, 1 failed: ", errors[1].GetProperty("message").GetString(), StringComparison.Ordinal);

        CliRun text = await RunFailingAsync(ExitCode.PartlyDone, "topic", "describe", "a", "gone", "b");
        Assert.Contains("equeue: gone: There is no topic 'gone'.", text.Error, StringComparison.Ordinal);
        await RunFailingAsync(ExitCode.NotFound, "topic", "describe", "gone", "gone too");
        await RunFailingAsync(ExitCode.Refused, "topic", "create", "a", "b");
    }

    [Fact]
    public async Task GivenASettingThatNoTopicMayHave_WhenCreated_ThenTheRestIsNotTried()
    {
        byte[] lines = Encoding.UTF8.GetBytes(string.Concat(Enumerable.Range(0, 2_000).Select(n => $"t{n}\n")));

        CliRun run = await RunWithAsync(lines, "topic", "create", "--lines", "-", "--queues", "1000000");

        Assert.Equal(ExitCode.Refused, run.ExitCode);
        Assert.Contains("the rest was not tried", run.Error, StringComparison.Ordinal);
        Assert.InRange(run.Error.Split('\n').Length, 2, 600);
        Assert.Empty((await RunAsync("topic", "list")).OutputLines);
    }

    [Fact]
    public async Task GivenNoServer_WhenManyAreCreated_ThenTheExitCodeSaysUnreachable()
    {
        byte[] lines = Encoding.UTF8.GetBytes(string.Concat(Enumerable.Range(0, 2_000).Select(n => $"t{n}\n")));

        CliRun run = await CliRun.RunAsync(
            ["topic", "create", "--lines", "-", "--server", "127.0.0.1:1", "--timeout", "300ms"], lines);

        Assert.Equal(ExitCode.Unreachable, run.ExitCode);
    }

    [Fact]
    public async Task GivenNamesThatStopComing_WhenCreated_ThenWhatIsDoneIsShownAndCancellationEndsIt()
    {
        using var output = new MemoryStream();
        using var error = new StringWriter();
        using var cancellation = new CancellationTokenSource();
        await using var input = new OpenEnd("a\nb\n"u8.ToArray());
        var streams = new CliStreams(input, output, error, IsTerminal: false);
        Task<int> running = CliProgram.RunAsync(
            ["topic", "create", "--lines", "-", "--json", "--server", _broker.Address], streams, cancellation.Token);

        await Eventually.TrueAsync(() => output.Length > 0);
        await cancellation.CancelAsync();

        Assert.Equal(ExitCode.Interrupted, await running);
        Assert.Equal(2, Encoding.UTF8.GetString(output.ToArray()).Split('\n', StringSplitOptions.RemoveEmptyEntries).Length);
    }

    private static string[] Names(CliRun run) => [.. run.OutputLines.Select(Name)];

    private static string Name(string line) => JsonDocument.Parse(line).RootElement.GetProperty("topic").GetString()!;

    private static long Number(string line, string field) =>
        JsonDocument.Parse(line).RootElement.GetProperty(field).GetInt64();

    private async Task<CliRun> RunAsync(params string[] arguments) => await RunFailingAsync(ExitCode.Done, arguments);

    private async Task<CliRun> RunFailingAsync(int exitCode, params string[] arguments)
    {
        CliRun run = await RunWithAsync([], arguments);
        Assert.True(run.ExitCode == exitCode, $"{run.ExitCode}: {run.Error}");
        return run;
    }

    private Task<CliRun> RunWithAsync(byte[] input, params string[] arguments) =>
        CliRun.RunAsync([.. arguments, "--server", _broker.Address], input);

    /// <summary>Gives what it has and then keeps its reader waiting, as a pipe does whose writer pauses.</summary>
    private sealed class OpenEnd(byte[] content) : MemoryStream(content)
    {
        public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            int size = Read(buffer.Span);
            if (size == 0)
                await new TaskCompletionSource().Task.WaitAsync(cancellationToken);
            return size;
        }
    }
}
