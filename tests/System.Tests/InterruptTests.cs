using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text;
using EQueue.Client;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Ctrl-C while the broker is away: a follower ends soon, and says what its group gets again.</summary>
public sealed class InterruptTests
{
    private const string Topic = "orders";
    private const string Group = "billing";
    private const int Interrupted = 130;

    /// <summary>Far more than any end takes here, also on a loaded machine; one signal took 17 s before.</summary>
    private static readonly TimeSpan Soon = TimeSpan.FromSeconds(10);

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

    /// <summary>A follower of a topic with messages of 1,000 bytes, three of which have been read.</summary>
    private static async Task<ProgramRun> FollowAsync(ServerProcess server, int count)
    {
        await using (var client = new EQueueClient(server.Address))
        {
            await client.Admin.CreateTopicAsync(Topic, new TopicSettings { QueueCount = 1 }, Token);
            await using Producer producer = client.CreateProducer();
            byte[] body = Encoding.ASCII.GetBytes(new string('x', 1_000));
            await Task.WhenAll(Enumerable.Range(0, count).Select(
                _ => producer.SendAsync(Topic, body, cancellationToken: Token).AsTask()));
        }

        ProgramRun follower = ProgramRun.Start(
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

    private static async Task EndsSoonAsync(ProgramRun follower)
    {
        long began = Stopwatch.GetTimestamp();
        follower.Signal(PosixSignal.SIGINT);
        Task rest = follower.OutputReader.ReadToEndAsync(Token);
        Assert.Equal(Interrupted, await follower.WaitForExitAsync());
        Assert.InRange(Stopwatch.GetElapsedTime(began), TimeSpan.Zero, Soon);
        await rest;
    }
}
