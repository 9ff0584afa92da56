using System.Diagnostics;
using System.Globalization;
using EQueue.Protocol;
using EQueue.Support.Logins;

namespace EQueue.Broker.Tests;

/// <summary>A thousand logins a second, right and wrong ones, beside a producer and a consumer that do nothing
/// wrong.</summary>
public sealed class LoginStormTests
{
    private const int LoginsPerSecond = 1_000;
    private static readonly TimeSpan Storm = TimeSpan.FromSeconds(2);

    /// <summary>For a machine that does other things as well; System.Tests has a run that says what it is.</summary>
    private static readonly TimeSpan MostHonestDelay = TimeSpan.FromSeconds(1);

    [Fact]
    public async Task GivenAStormOfRightPasswords_WhenMessagesGoThrough_ThenTheyAreInTimeAndLoginsSucceed()
    {
        IReadOnlyDictionary<ErrorCode, int> answers = await RunAsync(new StormLogin("alice", "alice's"));
        Assert.True(answers.GetValueOrDefault(ErrorCode.None) > 100, Text(answers));

        // Those beyond the places are told to come again; nothing else happens.
        Assert.Empty(answers.Keys.Except([ErrorCode.None, ErrorCode.LimitReached]));
    }

    [Fact]
    public async Task GivenAStormOfWrongPasswords_WhenMessagesGoThrough_ThenTheyAreInTimeAndAllButAFewAreMadeToWait()
    {
        IReadOnlyDictionary<ErrorCode, int> answers = await RunAsync(
            new StormLogin("alice", "wrong"), new StormLogin("mallory", "any"));
        Assert.Empty(answers.Keys.Except(
            [ErrorCode.AuthenticationFailed, ErrorCode.Throttled, ErrorCode.LimitReached]));
        Assert.True(answers.GetValueOrDefault(ErrorCode.Throttled) > 100, Text(answers));

        // Five are free; each second but a few, beside those that were under way.
        Assert.InRange(answers.GetValueOrDefault(ErrorCode.AuthenticationFailed), 1, 100);
    }

    private static string Text(IReadOnlyDictionary<ErrorCode, int> answers) =>
        string.Join(' ', answers.Select(one => $"{one.Key}: {one.Value}"));

    private static async Task<IReadOnlyDictionary<ErrorCode, int>> RunAsync(params StormLogin[] logins)
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer producer = await broker.ConnectAsync("producer");
        await using TestPeer consumer = await broker.ConnectAsync("consumer");
        QueueId queue = (await producer.CreateTopicAsync("honest")).Queues[0].Id;
        await producer.InvokeAsync(new SetUserRequest(
            "alice", ScramSecret.Create("alice's", ScramSecret.MinIterations), null, null, true));
        using var over = new CancellationTokenSource();
        Task<int> sent = SendAsync(producer, queue, over.Token);
        Task<List<TimeSpan>> delays = ReadAsync(consumer, queue, sent);
        IReadOnlyDictionary<ErrorCode, int> answers = await LoginStorm.RunAsync(
            broker.EndPoint, logins, LoginsPerSecond, Storm);
        await over.CancelAsync();
        TimeSpan[] sorted = [.. (await delays).Order()];
        Assert.Equal(await sent, sorted.Length);
        TimeSpan p99 = sorted[(int)((sorted.Length - 1) * 0.99)];
        Assert.True(p99 < MostHonestDelay, $"p99 of {sorted.Length} messages is {p99}; {Text(answers)}");
        return answers;
    }

    private static async Task<int> SendAsync(TestPeer producer, QueueId queue, CancellationToken over)
    {
        int count = 0;
        using var pace = new PeriodicTimer(TimeSpan.FromMilliseconds(5));
        for (; count == 0 || !over.IsCancellationRequested; count++)
        {
            string sentAt = Stopwatch.GetTimestamp().ToString(CultureInfo.InvariantCulture);
            Assert.Equal(ErrorCode.None, (await producer.ProduceAsync(queue, sentAt)).Error);
            await pace.WaitForNextTickAsync(CancellationToken.None);
        }

        return count;
    }

    /// <summary>From each send to its message at the consumer.</summary>
    private static async Task<List<TimeSpan>> ReadAsync(TestPeer consumer, QueueId queue, Task<int> sent)
    {
        var delays = new List<TimeSpan>();
        Fetched fetched = await consumer.FetchAsync(Messages.Open(100, Messages.From(queue, 0)));
        while (true)
        {
            delays.AddRange(fetched.Bodies.Select(
                static body => Stopwatch.GetElapsedTime(long.Parse(body, CultureInfo.InvariantCulture))));
            if (sent.IsCompleted && delays.Count >= await sent)
                return delays;
            fetched = await consumer.FetchAsync(fetched.Next(100));
        }
    }
}
