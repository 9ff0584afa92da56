using System.Text.RegularExpressions;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A real server under a clock that is wrong for a moment or at its start (libfaketime).</summary>
public sealed partial class WrongClockTests : IDisposable
{
    private const string Topic = "orders";
    private const int Count = 50;

    private static readonly string[] Libraries =
    [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    ];

    private readonly TempDirectory _directory = new();

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private string ClockFile => _directory["clock"];

    public void Dispose() => _directory.Dispose();

    [Theory]
    [InlineData("+8d", Traits = [LongRun.Trait, LongRun.Only])]
    [InlineData("+3650d")]
    [InlineData("-30d")]
    public async Task GivenUnreadMessages_WhenTheClockIsWrongForSeconds_ThenAllAreThereAndLaterTimesAreRight(string wrong)
    {
        SetClock("+0");
        await using ServerProcess server = await StartAsync();
        await using var client = new EQueueClient(server.Address);
        await SendAsync(client, Topic, Count);

        SetClock(wrong);
        await SeeAsync(server, "The wall clock was set by");
        await SeeRoundAsync(client, "first");
        SetClock("+0");
        await SeeRoundAsync(client, "second");

        Assert.Equal(Count, await CountAsync(client));
        AssertRight((await SendAsync(client, Topic, 1)).StoredTime);
    }

    [Theory]
    [Follows("set back meanwhile, stored times go back with it")]
    [InlineData("+40d")]
    [InlineData("+400d", Traits = [LongRun.Trait, LongRun.Only])]
    public async Task GivenAStartWithAClockFarAhead_WhenItIsSetRight_ThenNothingWentAndTimesAreRightAgain(string wrong)
    {
        SetClock("+0");
        await using ServerProcess server = await StartAsync();
        await using (var before = new EQueueClient(server.Address))
            await SendAsync(before, Topic, Count);
        Assert.Equal(0, await server.StopAsync());

        SetClock(wrong);
        await server.RestartAsync();
        await using var client = new EQueueClient(server.Address);
        await SeeAsync(server, "ahead of the last time at which the log was used");
        await SendAsync(client, Topic, 1);
        await SeeRoundAsync(client, "first");
        SetClock("+0");
        await SeeAsync(server, "Stored times of the log in");

        Assert.Equal(Count + 1, await CountAsync(client));
        AssertRight((await SendAsync(client, Topic, 1)).StoredTime);
    }

    [Fact]
    [Follows("start the server once with --Store:AcceptClock true", "The setting Store:AcceptClock is on: take it away")]
    public async Task GivenStoredTimesThatAreAhead_WhenTheWarningIsFollowed_ThenTimesAreRightAgain()
    {
        SetClock("+400d");
        await using ServerProcess server = await StartAsync();
        await using (var wrong = new EQueueClient(server.Address))
            await SendAsync(wrong, Topic, Count);
        Assert.Equal(0, await server.StopAsync());
        SetClock("+0");
        await server.RestartAsync();
        await SeeAsync(server, "behind the stored times of the log");
        string[] advised = Advice().Match(server.Error).Groups["arguments"].Value.Split(' ');
        Assert.Equal(0, await server.StopAsync());

        await using ServerProcess accepting = await StartAsync(advised);
        await using (var client = new EQueueClient(accepting.Address))
            AssertRight((await SendAsync(client, Topic, 1)).StoredTime);
        Assert.Contains("The setting Store:AcceptClock is on: take it away", accepting.Error, StringComparison.Ordinal);
        Assert.Equal(0, await accepting.StopAsync());
        await server.RestartAsync();
        await using var after = new EQueueClient(server.Address);

        AssertRight((await SendAsync(after, Topic, 1)).StoredTime);
        Assert.Equal(Count + 2, await CountAsync(after));
    }

    private static void AssertRight(DateTimeOffset storedTime) =>
        Assert.InRange((DateTimeOffset.UtcNow - storedTime).Duration().TotalMinutes, 0, 5);

    private static Task SeeAsync(ServerProcess server, string text) =>
        Eventually.TrueAsync(() => server.Error.Contains(text, StringComparison.Ordinal), text);

    /// <summary>Returns when a whole round of retention has run.</summary>
    private static async Task SeeRoundAsync(EQueueClient client, string witness)
    {
        for (int i = 0; i < 2; i++)
        {
            string topic = $"{witness}-{i}";
            var settings = new TopicSettings { QueueCount = 1, RetentionCount = 1 };
            await client.Admin.CreateTopicAsync(topic, settings, cancellationToken: Token);
            await SendAsync(client, topic, 3);
            await Eventually.TrueAsync(
                async () => (await client.Admin.DescribeTopicAsync(topic, Token)).Queues[0].Start.Value == 2,
                "a round of retention");
        }
    }

    private static async Task<SendReceipt> SendAsync(EQueueClient client, string topic, int count)
    {
        await using Producer producer = client.CreateProducer();
        SendReceipt last = default;
        for (int i = 0; i < count; i++)
            last = await producer.SendAsync(topic, "message"u8.ToArray(), cancellationToken: Token);
        return last;
    }

    private static async Task<long> CountAsync(EQueueClient client)
    {
        TopicDescription topic = await client.Admin.DescribeTopicAsync(Topic, Token);
        return topic.Queues.Sum(queue => queue.End.Value - queue.Start.Value);
    }

    private void SetClock(string offset)
    {
        File.WriteAllText(ClockFile + ".new", offset + "\n");
        File.Move(ClockFile + ".new", ClockFile, overwrite: true);
    }

    private Task<ServerProcess> StartAsync(params string[] more)
    {
        string? library = Array.Find(Libraries, File.Exists);
        if (library is null)
            Assert.Skip("faketime is not installed (Debian: apt-get install faketime).");
        return ServerProcess.StartAsync(
            _directory["data"],
            new Dictionary<string, string>
            {
                ["LD_PRELOAD"] = library,
                ["FAKETIME_TIMESTAMP_FILE"] = ClockFile,
                ["FAKETIME_CACHE_DURATION"] = "1",
                ["FAKETIME_DONT_FAKE_MONOTONIC"] = "1",
                ["NO_FAKE_STAT"] = "1",
            },
            ["--flush", "async", "--Topics:RetentionInterval", "100ms", .. more]);
    }

    [GeneratedRegex("start the server once with (?<arguments>--[^:]+:[A-Za-z]+ [a-z]+)")]
    private static partial Regex Advice();
}
