using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Batches that a bounded topic refuses or lets wait in vain: the sequences of those behind them.</summary>
public sealed class BacklogRefusalTests
{
    private static readonly ProducerOptions Quick = new()
    {
        BatchBytes = 1024,
        RequestTimeout = TimeSpan.FromMilliseconds(300),
        RetryBackoffMax = TimeSpan.FromMilliseconds(50),
    };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    public async Task GivenBatchesRefusedForWantOfRoom_WhenOthersFollow_ThenTheyKeepEpochAndOrderAndNoneIsThereTwice(
        int seed)
    {
        await using FakeBroker fake = await StartAsync();
        var random = new Random(seed);
        fake.RetryAfterMs = 1234;
        fake.MeetBatch = _ => random.Next(3) == 0 ? ErrorCode.QueueFull : ErrorCode.None;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Quick);

        SortedDictionary<int, EQueueException?> outcome = await SendAsync(producer, 2000);

        Assert.All(outcome.Values, static failure => Assert.True(failure is null or { Code: ErrorCode.QueueFull }));
        Assert.All(outcome.Values, static failure => Assert.Equal(
            failure is null ? null : TimeSpan.FromMilliseconds(1234), failure?.RetryAfter));
        Assert.Contains(outcome, static one => one.Value is not null);
        Assert.Equal(outcome.Where(static one => one.Value is null).Select(static one => one.Key), fake.Bodies("t"));
        Assert.Equal((1, 0), (fake.InitCount, (int)fake.HighestEpoch));
    }

    [Fact]
    public async Task GivenALostAnswerAndThenNoRoom_WhenTheTimeIsUp_ThenTheEpochRisesAndTheOldCopyIsShutOut()
    {
        await using FakeBroker fake = await StartAsync();
        bool isFull = true;
        fake.Judge = _ => fake.ProduceCount == 1 ? Verdict.CloseLate : Verdict.Store;
        fake.MeetBatch = _ => isFull ? ErrorCode.QueueFull : ErrorCode.None;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            Quick with { DeliveryTimeout = TimeSpan.FromMilliseconds(1200) });
        Task<SendReceipt> lost = producer.SendAsync("t", BitConverter.GetBytes(0), cancellationToken: Token).AsTask();
        await Eventually.TrueAsync(() => fake.ProduceCount >= 2);

        EQueueException refused = await Assert.ThrowsAsync<EQueueException>(
            async () => await producer.SendAsync("t", BitConverter.GetBytes(1), cancellationToken: Token));
        Assert.False(lost.IsCompleted, "nobody knows yet whether it will be stored");
        EQueueException expired = await Assert.ThrowsAsync<EQueueException>(() => lost);
        await Eventually.TrueAsync(() => fake.HighestEpoch == 1);
        isFull = false;
        Assert.Equal(ErrorCode.ProducerFenced, fake.DeliverLate());
        await producer.SendAsync("t", BitConverter.GetBytes(2), cancellationToken: Token);

        Assert.Equal((ErrorCode.QueueFull, ErrorCode.Timeout), (refused.Code, expired.Code));
        Assert.Equal([2], fake.Bodies("t"));
        Assert.Equal(2, fake.InitCount);
    }

    [Fact]
    public async Task GivenALostAnswerAndThenNoRoom_WhenTheOldCopyIsStored_ThenItIsAcknowledgedOnceAtItsPlace()
    {
        await using FakeBroker fake = await StartAsync();
        bool isFull = true;
        fake.Judge = _ => fake.ProduceCount == 1 ? Verdict.CloseLate : Verdict.Store;
        fake.MeetBatch = _ => isFull ? ErrorCode.QueueFull : ErrorCode.None;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Quick);
        Task<SendReceipt> lost = producer.SendAsync("t", BitConverter.GetBytes(0), cancellationToken: Token).AsTask();
        await Eventually.TrueAsync(() => fake.ProduceCount >= 3);

        isFull = false;
        fake.DeliverLate();
        await producer.SendAsync("t", BitConverter.GetBytes(1), cancellationToken: Token);

        Assert.Equal(0, (await lost).Offset.Value);
        Assert.Equal([0, 1], fake.Bodies("t"));
        Assert.Equal(1, fake.InitCount);
    }

    [Fact]
    public async Task GivenABatchThatWaitedInVain_WhenItIsSentAgain_ThenItsSequenceIsTheSameUntilItExpiresAndLeavesNoGap()
    {
        await using FakeBroker fake = await StartAsync();
        fake.MeetBatch = static batch => batch.FirstBody == 1 ? ErrorCode.Timeout : ErrorCode.None;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            Quick with { DeliveryTimeout = TimeSpan.FromMilliseconds(1500) });
        await producer.SendAsync("t", BitConverter.GetBytes(0), cancellationToken: Token);
        Task<SendReceipt> waits = producer.SendAsync("t", BitConverter.GetBytes(1), cancellationToken: Token).AsTask();
        await Eventually.TrueAsync(() => fake.ProduceCount >= 10);
        Task<SendReceipt>[] behind = Enumerable.Range(2, 100).Select(
            i => producer.SendAsync("t", BitConverter.GetBytes(i), cancellationToken: Token).AsTask()).ToArray();

        Assert.Equal(ErrorCode.Timeout, (await Assert.ThrowsAsync<EQueueException>(() => waits)).Code);
        await Task.WhenAll(behind);

        IEnumerable<FakeBatch> attempts =
            fake.Requests.SelectMany(static one => one.Batches).Where(static one => one.FirstBody == 1);
        Assert.All(attempts, static one => Assert.Equal(1, one.Sequence));
        Assert.Equal([0, .. Enumerable.Range(2, 100)], fake.Bodies("t"));
        Assert.Equal(1, fake.InitCount);
    }

    /// <summary>Everything that can happen to a batch, mixed.</summary>
    [Theory]
    [InlineData(11)]
    [InlineData(12)]
    [InlineData(13)]
    [InlineData(14)]
    [InlineData(15)]
    [InlineData(16)]
    public async Task GivenRefusalsVainWaitsAndLostAnswers_WhenSending_ThenWhatIsToldIsTrueAndEachKeyKeepsItsOrder(
        int seed)
    {
        await using FakeBroker fake = await StartAsync(queueCount: 3);
        var random = new Random(seed);
        fake.Judge = _ => random.Next(8) switch
        {
            0 => Verdict.StoreAndClose,
            1 => Verdict.Close,
            _ => Verdict.Store,
        };
        fake.MeetBatch = _ => random.Next(5) switch
        {
            0 => ErrorCode.QueueFull,
            1 => ErrorCode.Timeout,
            _ => ErrorCode.None,
        };
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            Quick with { DeliveryTimeout = TimeSpan.FromMilliseconds(400) });

        SortedDictionary<int, EQueueException?> outcome = await SendAsync(producer, 1500, keys: 20);

        IReadOnlyList<int> stored = fake.Bodies("t");
        Assert.Equal(stored.Distinct().Count(), stored.Count);
        Assert.All(stored.GroupBy(static value => value % 20), static key => Assert.Equal(key.Order(), key));
        Assert.Empty(outcome.Where(static one => one.Value is null).Select(static one => one.Key).Except(stored));
        Assert.Empty(outcome.Where(static one => one.Value is { Code: ErrorCode.QueueFull })
            .Select(static one => one.Key).Intersect(stored));
        Assert.All(outcome.Values, static failure => Assert.True(
            failure is null or { Code: ErrorCode.QueueFull or ErrorCode.Timeout }, failure?.ToString()));
    }

    private static async Task<FakeBroker> StartAsync(int queueCount = 1)
    {
        FakeBroker fake = await FakeBroker.StartAsync(queueCount);
        fake.Settings["t"] = new TopicSettings { MaxBacklogMessages = 64 };
        return fake;
    }

    /// <returns>By number, why it failed or null.</returns>
    private static async Task<SortedDictionary<int, EQueueException?>> SendAsync(
        Producer producer, int count, int keys = 1)
    {
        SortedDictionary<int, EQueueException?> outcome = [];
        Task<SendReceipt>[] sends = Enumerable.Range(0, count).Select(i => producer.SendAsync(
            "t", BitConverter.GetBytes(i), $"k{i % keys}", cancellationToken: Token).AsTask()).ToArray();
        for (int i = 0; i < count; i++)
        {
            try
            {
                await sends[i];
                outcome[i] = null;
            }
            catch (EQueueException exception)
            {
                outcome[i] = exception;
            }
        }

        return outcome;
    }
}
