using System.Text;
using System.Text.Json;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary><c>group lag</c> and <c>top</c> against a real broker, within this process.</summary>
public sealed class WatchCommandTests : CommandTest
{
    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        await DoneAsync("topic", "create", "orders", "bills", "--queues", "2");
        for (int i = 0; i < 6; i++)
            await DoneAsync("send", "orders", $"{i}");
        await DoneAsync("consume", "orders", "--group", "billing", "--count", "2");
        await DoneAsync("group", "reset", "audit", "--topic", "orders", "--to", "begin");
    }

    [Fact]
    public async Task GivenGroups_WhenTheirLagIsAskedFor_ThenTheFurthestBehindIsFirst()
    {
        CliRun all = await DoneAsync("group", "lag");
        Assert.Equal(2, all.OutputLines.Length);
        Assert.Matches(@"^audit\torders\t0\t2\t6\t\d+$", all.OutputLines[0]);
        Assert.Matches(@"^billing\torders\t0\t\d\t4\t\d+$", all.OutputLines[1]);
        JsonElement one = await JsonOfAsync("group", "lag", "billing");
        Assert.Equal(
            ["time", "group", "topic", "memberCount", "queueCount", "lag", "lagMs"],
            one.EnumerateObject().Select(property => property.Name));
        Assert.Equal(4, one.GetProperty("lag").GetInt32());
        await FailsAsync(ExitCode.NotFound, "UnknownGroup", "group", "lag", "billing", "nobody");
    }

    [Fact]
    public async Task GivenAWatchedGroup_WhenItCatchesUp_ThenALaterRoundShowsItAndCtrlCEndsIt()
    {
        using var ended = new CancellationTokenSource();
        using var output = new SharedOutput();
        using var error = new StringWriter();
        var streams = new CliStreams(Stream.Null, output, error, IsTerminal: false);
        Task<int> watching = CliProgram.RunAsync(
            WithServer("group", "lag", "billing", "--watch", "--interval", "100ms", "--json"), streams, ended.Token);
        await Eventually.TrueAsync(() => output.Text.Contains("\"lag\":4,", StringComparison.Ordinal));
        await DoneAsync("consume", "orders", "--group", "billing");
        await Eventually.TrueAsync(() => output.Text.Contains("\"lag\":0,", StringComparison.Ordinal));
        await ended.CancelAsync();
        Assert.Equal(ExitCode.Interrupted, await watching);
        Assert.Empty(error.ToString());
    }

    [Fact]
    public async Task GivenATerminal_WhenWatched_ThenEachRoundClearsTheScreen()
    {
        foreach (string[] command in new string[][] { ["group", "lag", "--watch"], ["top"] })
        {
            using var ended = new CancellationTokenSource();
            using var output = new SharedOutput();
            using var error = new StringWriter();
            var streams = new CliStreams(Stream.Null, output, error, IsTerminal: true);
            Task<int> watching = CliProgram.RunAsync(
                WithServer([.. command, "--interval", "100ms"]), streams, ended.Token);
            await Eventually.TrueAsync(() => output.Text.Split("\u001b[H\u001b[2J").Length > 3);
            await ended.CancelAsync();
            Assert.Equal(ExitCode.Interrupted, await watching);
            Assert.Contains("billing", output.Text, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task GivenNoTerminal_WhenTopRuns_ThenOneSnapshotTellsTopicsGroupsAndConnections()
    {
        JsonElement top = await JsonOfAsync("top", "--interval", "100ms");
        Assert.Equal(
            ["time", "connections", "requestsPerSecond", "messagesPerSecond", "topicCount", "topics", "groups", "memory"],
            top.EnumerateObject().Select(property => property.Name));
        Assert.True(top.GetProperty("connections").GetInt64() >= 1);
        Assert.True(top.GetProperty("requestsPerSecond").GetDouble() > 0);
        Assert.Equal(
            ["bills", "orders"],
            top.GetProperty("topics").EnumerateArray().Select(one => one.GetProperty("topic").GetString()));
        Assert.Equal(
            ["audit", "billing"],
            top.GetProperty("groups").EnumerateArray().Select(one => one.GetProperty("group").GetString()));
        CliRun people = await DoneAsync("top", "--once", "--interval", "100ms", "--rows", "1");
        Assert.Matches(@"^\S+ connections \d+ requests/s \S+ messages/s 0\.0 topics 2( [^\n]*)?\n", people.OutputText);
        Assert.Equal(3, people.OutputLines.Length);
    }

    [Fact]
    public async Task GivenMessagesBetweenTwoLooks_WhenTopRuns_ThenTheirTopicComesFirstWithItsRate()
    {
        using var ended = new CancellationTokenSource();
        Task sending = SendUntilAsync(ended.Token);
        JsonElement top = await JsonOfAsync("top", "--interval", "500ms");
        await ended.CancelAsync();
        await sending;
        JsonElement first = top.GetProperty("topics")[0];
        Assert.Equal("orders", first.GetProperty("topic").GetString());
        Assert.True(first.GetProperty("messagesPerSecond").GetDouble() > 0);
    }

    private async Task SendUntilAsync(CancellationToken ended)
    {
        while (!ended.IsCancellationRequested)
            await DoneAsync("send", "orders", "more");
    }

    /// <summary>An output that may be looked at while it is written.</summary>
    private sealed class SharedOutput : MemoryStream
    {
        private readonly Lock _lock = new();

        public string Text
        {
            get
            {
                lock (_lock)
                    return Encoding.UTF8.GetString(ToArray());
            }
        }

        public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            lock (_lock)
                base.Write(buffer.Span);
            return ValueTask.CompletedTask;
        }
    }
}
