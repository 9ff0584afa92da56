using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Ctrl-C while a broker is away: a command ends soon, and says what its group gets again or what is not
/// sent.</summary>
public sealed class InterruptTests
{
    private const string Topic = "orders";
    private const string Group = "billing";
    private const int Interrupted = 130;

    /// <summary>Far more than any end takes here, also on a loaded machine; one signal took 17 s before.</summary>
    private static readonly TimeSpan Soon = TimeSpan.FromSeconds(10);

    /// <summary>What a pipe of Linux holds.</summary>
    private const int PipeBytes = 64 << 10;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenNothingToCommitAndABrokerThatIsAway_WhenAFollowerIsInterrupted_ThenItEndsAtOnce(bool isHung)
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await using ProgramRun follower = await FollowAsync(server, count: 3);
        await using (var client = new EQueueClient(server.Address))
        {
            await Eventually.TrueAsync(async () =>
                (await client.Admin.ReadGroupOffsetsAsync(Group, Topic, Token))[0].Value == 3);

            // What follows in the log is answered after the commit: the follower has its answer too.
            await client.Admin.CreateTopicAsync("later", cancellationToken: Token);
            await client.Admin.ReadGroupOffsetsAsync(Group, Topic, Token);
        }

        await TakeAwayAsync(server, isHung);
        await EndsSoonAsync(follower);
        Assert.DoesNotContain("committed", follower.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenPrintedMessagesAndABrokerThatIsAway_WhenAFollowerIsInterrupted_ThenItSaysWhatComesAgain()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);

        // More than the pipe holds: the follower stands in the midst of its printing, with a commit to make.
        await using ProgramRun follower = await FollowAsync(server, count: 2_000);
        await TakeAwayAsync(server, isHung: true);
        await EndsSoonAsync(follower);
        Assert.Contains("what was printed last is not committed", follower.Error, StringComparison.Ordinal);
        Assert.Contains($"so {Group} gets it again", follower.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAFollowerThatDoesNotEnd_WhenItIsInterruptedTwice_ThenItEndsAtOnce()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);

        // Its output is not read: it cannot end by itself.
        await using ProgramRun follower = await FollowAsync(server, count: 2_000);
        await TakeAwayAsync(server, isHung: true);
        follower.Signal(PosixSignal.SIGINT);
        await Eventually.TrueAsync(async () =>
        {
            follower.Signal(PosixSignal.SIGINT);
            await Task.Yield();
            return follower.HasExited;
        });
        Assert.Equal(Interrupted, await follower.WaitForExitAsync());
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenABrokerThatWentAway_WhenASenderIsInterrupted_ThenItEndsSoonAndSaysWhatIsNotSent(bool isHung)
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await using ProgramRun sender = await StartSenderAsync(server);

        await TakeAwayAsync(server, isHung);

        // Thrice what the pipe holds: once it is written, the line before it has been read and sent.
        await sender.Input.WriteAsync("two\n"u8.ToArray(), Token);
        await sender.Input.WriteAsync(Encoding.ASCII.GetBytes(new string('x', 3 * PipeBytes) + '\n'), Token);
        await EndsSoonAsync(sender);
        Assert.Contains($"interrupted: sent 1 message to {Topic}", sender.Error, StringComparison.Ordinal);
        Assert.Matches("; [12] (not sent|without an answer)", sender.Error);
    }

    [Theory]
    [InlineData("one")]
    [InlineData("--lines")]
    public async Task GivenATopicThatIsFull_WhenASenderIsInterrupted_ThenItEndsSoonAndSaysWhatIsNotSent(string what)
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await FillAsync(server);
        string file = directory["lines"];
        await File.WriteAllTextAsync(file, "one\ntwo\n", Token);
        await using var sender = ProgramRun.Start(
            "Cli", ["send", Topic, what, .. what == "--lines" ? [file] : Array.Empty<string>(), "--server", server.Address]);
        await using var client = new EQueueClient(server.Address);
        await Eventually.TrueAsync(async () =>
            (await client.Admin.ReadFiguresAsync(Token)).Find("broker.parkedBytes") > 0);

        await EndsSoonAsync(sender);
        Assert.Contains($"interrupted: sent 0 messages to {Topic}", sender.Error, StringComparison.Ordinal);
        Assert.Matches($"; {(what == "one" ? 1 : 2)} (not sent|without an answer)", sender.Error);
    }

    [Fact]
    public async Task GivenNothingUnderWay_WhenASenderThatWaitsForLinesIsInterrupted_ThenItSaysHowManyItSent()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await using ProgramRun sender = await StartSenderAsync(server);
        await EndsSoonAsync(sender);
        Assert.Matches($@"interrupted: sent 1 message to {Topic} in [0-9.]+ s\n", sender.Error);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenATargetThatIsAway_WhenAForwarderIsInterrupted_ThenItEndsSoonAndTheNextStartSendsTheRest(
        bool isHung)
    {
        using var directory = new TempDirectory();
        await using ServerProcess source = await ServerProcess.StartAsync(directory["source"]);
        await using ServerProcess target = await ServerProcess.StartAsync(directory["target"]);
        await SendAsync(source, count: 3);
        await using ProgramRun forwarder = StartForwarder(source, target);
        await using var client = new EQueueClient(source.Address);
        await CommittedAsync(client, 3);
        await TakeAwayAsync(target, isHung);
        long fetched = await FetchedBytesAsync(client);
        await SendAsync(source, count: 3);
        await Eventually.TrueAsync(async () => await FetchedBytesAsync(client) > fetched);

        await EndsSoonAsync(forwarder, exitCode: 4);
        Assert.Contains("forwarded 3 messages", forwarder.Error, StringComparison.Ordinal);
        Assert.Contains("has not acknowledged everything within 2 s", forwarder.Error, StringComparison.Ordinal);
        await CommittedAsync(client, 3);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenASourceThatIsAway_WhenAForwarderIsInterrupted_ThenItEndsSoon(bool isHung)
    {
        using var directory = new TempDirectory();
        await using ServerProcess source = await ServerProcess.StartAsync(directory["source"]);
        await using ServerProcess target = await ServerProcess.StartAsync(directory["target"]);
        await SendAsync(source, count: 3);
        await using ProgramRun forwarder = StartForwarder(source, target);
        await using (var client = new EQueueClient(source.Address)) await CommittedAsync(client, 3);
        await TakeAwayAsync(source, isHung);
        await EndsSoonAsync(forwarder, exitCode: null);
        Assert.Contains("forwarded 3 messages", forwarder.Error, StringComparison.Ordinal);
    }

    /// <summary>A sender of lines, of which one is acknowledged.</summary>
    private static async Task<ProgramRun> StartSenderAsync(ServerProcess server)
    {
        var sender = ProgramRun.Start(
            "Cli", ["send", Topic, "--lines", "-", "--receipts", "--server", server.Address]);
        await sender.Input.WriteAsync("one\n"u8.ToArray(), Token);
        await sender.Input.FlushAsync(Token);
        await sender.OutputReader.ReadLineAsync(Token);
        return sender;
    }

    private static ProgramRun StartForwarder(ServerProcess source, ServerProcess target) => ProgramRun.Start(
        "Cli",
        ["forward", "--from", $"{source.Address}/{Topic}", "--to", $"{target.Address}/copies", "--group", Group,
            "--follow"]);

    private static async Task<long> FetchedBytesAsync(EQueueClient client) =>
        (await client.Admin.ReadFiguresAsync(Token)).Find("broker.fetchedBytes")!.Value;

    private static Task CommittedAsync(EQueueClient client, long count) => Eventually.TrueAsync(async () =>
        (await client.Admin.ReadGroupOffsetsAsync(Group, Topic, Token))[0].Value == count);

    /// <summary>A topic that takes no more: its senders wait until a group commits.</summary>
    private static async Task FillAsync(ServerProcess server)
    {
        await using var client = new EQueueClient(server.Address);
        await client.Admin.CreateTopicAsync(
            Topic, new TopicSettings { QueueCount = 1, MaxBacklogMessages = 1, BacklogGroups = Group }, Token);
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync(Topic, "first"u8, cancellationToken: Token);
    }

    private static async Task SendAsync(ServerProcess server, int count)
    {
        await using var client = new EQueueClient(server.Address);
        if (!(await client.Admin.ListTopicsAsync(Token).ToListAsync(Token)).Exists(static one => one.Topic == Topic))
            await client.Admin.CreateTopicAsync(Topic, new TopicSettings { QueueCount = 1 }, Token);
        await using Producer producer = client.CreateProducer();
        byte[] body = Encoding.ASCII.GetBytes(new string('x', 1_000));
        await Task.WhenAll(Enumerable.Range(0, count).Select(
            _ => producer.SendAsync(Topic, body, cancellationToken: Token).AsTask()));
    }

    /// <summary>A follower of a topic with messages of 1,000 bytes, three of which have been read.</summary>
    private static async Task<ProgramRun> FollowAsync(ServerProcess server, int count)
    {
        await SendAsync(server, count);
        var follower = ProgramRun.Start(
            "Cli", ["consume", Topic, "--group", Group, "--follow", "--server", server.Address]);
        for (int i = 0; i < 3; i++)
            await follower.OutputReader.ReadLineAsync(Token);
        return follower;
    }

    private static async Task TakeAwayAsync(ServerProcess server, bool isHung)
    {
        if (isHung)
            server.Pause();
        else
            await server.KillAsync();
    }

    private static async Task EndsSoonAsync(ProgramRun run, int? exitCode = Interrupted)
    {
        long began = Stopwatch.GetTimestamp();
        run.Signal(PosixSignal.SIGINT);
        Task rest = run.OutputReader.ReadToEndAsync(Token);
        int found = await run.WaitForExitAsync();
        Assert.True(found == (exitCode ?? found), $"{found}: {run.Error}");
        Assert.InRange(Stopwatch.GetElapsedTime(began), TimeSpan.Zero, Soon);
        await rest;
    }
}
