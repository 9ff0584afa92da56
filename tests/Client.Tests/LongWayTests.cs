using System.Diagnostics;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Batches that are not full, when the way to the broker and back is long, and when it only seems so.</summary>
public sealed class LongWayTests
{
    private static readonly TimeSpan Way = TimeSpan.FromMilliseconds(200);

    /// <summary>No request is sent again while the test waits.</summary>
    private static ProducerOptions Options { get; } = new() { RequestTimeout = TimeSpan.FromMinutes(5) };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenALongWay_WhenARequestIsUnderWay_ThenTheNextMessageDoesNotWaitForItsAnswer()
    {
        const int InFlight = 3;
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Options with { MaxInFlight = InFlight });
        List<Task> sends = [await SendOverAsync(fake, producer, Way)];
        for (int number = 2; number <= InFlight; number++)
        {
            sends.Add(producer.SendAsync("t", "message"u8.ToArray(), cancellationToken: Token).AsTask());
            await Eventually.TrueAsync(() => fake.ProduceCount == 1 + number, $"{number} are under way");
        }

        // There is no room in flight for these: they gather.
        for (int i = 0; i < 10; i++)
        {
            sends.Add(producer.SendAsync("t", "message"u8.ToArray(), cancellationToken: Token).AsTask());
            await Eventually.PassedAsync(Way / 10);
        }

        Assert.Equal(1 + InFlight, fake.ProduceCount);
        fake.Release();
        await Task.WhenAll(sends);
        Assert.Equal(2 + InFlight, fake.ProduceCount);
    }

    [Fact]
    public async Task GivenALongWay_WhenMessagesComeOneByOne_ThenRequestsLeaveEvenlyAndNotWithEach()
    {
        const int InFlight = 8;
        const int Messages = InFlight - 1;
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Options with { MaxInFlight = InFlight });
        List<Task> sends = [await SendOverAsync(fake, producer, 4 * Way)];
        long began = Stopwatch.GetTimestamp();
        for (int i = 0; i < Messages; i++)
        {
            sends.Add(producer.SendAsync("t", "message"u8.ToArray(), cancellationToken: Token).AsTask());
            await Eventually.PassedAsync(Way / 10);
        }

        await Eventually.TrueAsync(() => fake.ProduceCount > 2, "some have left");
        int left = fake.ProduceCount - 2;
        Assert.InRange(left, 1, 1 + (Stopwatch.GetElapsedTime(began) / (4 * Way / InFlight)));
        fake.Release();
        await Task.WhenAll(sends);
        Assert.Equal(Messages, fake.Requests.Skip(2).Sum(static request => request.Records));
    }

    [Fact]
    public async Task GivenALongWay_WhenManySendInTurnWithTheirReceipts_ThenOneRequestHoldsThemAll()
    {
        const int Senders = 50;
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Options with { MaxInFlight = 1 });
        Task first = await SendOverAsync(fake, producer, Way);
        using var isOver = new CancellationTokenSource();
        Task[] senders = [.. Enumerable.Range(0, Senders / 2).Select(_ => SendInTurnAsync())];
        await AnswerAsync();

        // Half of them are under way and the other half in the open batch: it must not stay like that.
        senders = [.. senders, .. Enumerable.Range(0, Senders / 2).Select(_ => SendInTurnAsync())];
        int most = 0;
        for (int round = 0; round < 5; round++)
        {
            await AnswerAsync();
            most = Math.Max(most, fake.Requests[^1].Records);
        }

        Assert.Equal(Senders, most);
        await isOver.CancelAsync();
        fake.Release();
        await first;
        await Task.WhenAll(senders);

        async Task AnswerAsync()
        {
            int before = fake.ProduceCount;
            await Eventually.PassedAsync(Way / 4);
            Assert.True(fake.TryReleaseOldest(1));
            await Eventually.TrueAsync(() => fake.ProduceCount == before + 1, "the next is under way");
        }

        async Task SendInTurnAsync()
        {
            while (!isOver.IsCancellationRequested)
                await producer.SendAsync("t", "message"u8.ToArray(), cancellationToken: Token);
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenNoLongWay_WhenAnAnswerTakesLong_ThenMessagesGatherBehindIt(bool isBounded)
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        if (isBounded)
            fake.Settings["t"] = new TopicSettings { MaxBacklogMessages = 1000 };
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Options);

        // An answer that waits for room in the backlog says nothing of the way; of others one is quick enough.
        for (int i = 0; !isBounded && i < 20; i++)
            await producer.SendAsync("t", "quick"u8.ToArray(), cancellationToken: Token);
        List<Task> sends = [await SendOverAsync(fake, producer, Way)];
        int before = fake.ProduceCount;
        for (int i = 0; i < 10; i++)
        {
            sends.Add(producer.SendAsync("t", "message"u8.ToArray(), cancellationToken: Token).AsTask());
            await Eventually.PassedAsync(Way / 10);
        }

        Assert.Equal(before, fake.ProduceCount);
        fake.Release();
        await Task.WhenAll(sends);
    }

    /// <summary>Sends a message that is answered after so long, and another whose answer is held.</summary>
    private static async Task<Task> SendOverAsync(FakeBroker fake, Producer producer, TimeSpan way)
    {
        fake.Judge = static _ => Verdict.Hold;
        int before = fake.ProduceCount;
        Task<SendReceipt> first = producer.SendAsync("t", "first"u8.ToArray(), cancellationToken: Token).AsTask();
        await Eventually.TrueAsync(() => fake.ProduceCount == before + 1, "the first is there");
        await Eventually.PassedAsync(way);
        Assert.True(fake.TryReleaseOldest(1));
        await first;
        Task held = producer.SendAsync("t", "held"u8.ToArray(), cancellationToken: Token).AsTask();
        await Eventually.TrueAsync(() => fake.ProduceCount == before + 2, "the second is there");
        return held;
    }
}
