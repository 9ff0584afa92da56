using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Client.Tests;

/// <summary>What a member of a group logs: queues that come and go, heartbeats that are late.</summary>
public sealed class MemberLogTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenTwoMembers_WhenOneLeaves_ThenTheOtherLogsTheQueuesThatItGained()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 4);
        await broker.Client.Admin.CreateTopicAsync("t", cancellationToken: Token);
        var log = new CollectedLog();
        await using var client = new EQueueClient(
            new ClientOptions { Addresses = broker.Address, LoggerFactory = log });
        await using Consumer one = client.CreateConsumer("g", ["t"]);
        await using Consumer other = broker.Client.CreateConsumer("g", ["t"]);
        await one.JoinAsync(Token);
        await other.JoinAsync(Token);
        await Eventually.TrueAsync(() => one.GetProgress().Count == 2 && other.GetProgress().Count == 2);
        LogLine given = Assert.Single(log.Lines, static line => line.Id == 5108);
        Assert.Contains("gave up 2 queues", given.Text, StringComparison.Ordinal);

        await other.LeaveAsync(Token);
        await Eventually.TrueAsync(() => log.CountOf(5107) == 2);
        LogLine gained = log.Lines.Last(static line => line.Id == 5107);
        Assert.Equal(LogLevel.Information, gained.Level);
        Assert.Contains("reads 2 more queues", gained.Text, StringComparison.Ordinal);
        Assert.Contains("t/", gained.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAProcessThatDoesNotRun_WhenItsHeartbeatIsLate_ThenThatIsLoggedWithTheThreadPool()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        var log = new CollectedLog();
        var time = new StoppedTime();
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = broker.Address,
            LoggerFactory = log,
            TimeProvider = time,
        });
        await using Consumer consumer = client.CreateConsumer(
            "g", ["t"], new ConsumerOptions { SessionTimeout = TimeSpan.FromSeconds(3) });
        await consumer.JoinAsync(Token);
        // By more than a quarter of the session's time, and by less than would end the session.
        for (int i = 0; i < 15 && log.CountOf(5109) == 0; i++)
        {
            time.Skip(TimeSpan.FromSeconds(1.5));
            await Eventually.PassedAsync(TimeSpan.FromSeconds(2));
        }

        LogLine line = log.Lines.First(static line => line.Id == 5109);
        Assert.Equal(LogLevel.Warning, line.Level);
        Assert.Contains("thread pool", line.Text, StringComparison.Ordinal);
    }

    /// <summary>A clock that runs on while the process stands.</summary>
    private sealed class StoppedTime : TimeProvider
    {
        private long _skipped;

        public override long GetTimestamp() => base.GetTimestamp() + Interlocked.Read(ref _skipped);

        public void Skip(TimeSpan time) =>
            Interlocked.Add(ref _skipped, (long)(time.TotalSeconds * TimestampFrequency));
    }
}
