using System.Text;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Queues that take no messages any more, and a producer that sends on.</summary>
public sealed class UnwritableQueueTests
{
    private const int Queues = 4;

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
    public async Task GivenMessagesWithoutAKey_WhenQueuesCloseOneByOne_ThenEachIsStoredOnceElsewhereInTheSameEpoch(
        int seed)
    {
        await using FakeBroker fake = await FakeBroker.StartAsync(Queues);
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Quick);
        var random = new Random(seed);
        List<Task<SendReceipt>> sends = [];
        for (int i = 0; i < 4000; i++)
        {
            if (i % 1000 == 500)
                fake.Unwritable[(uint)(1 + ((seed + (i / 1000)) % Queues))] = true;
            if (i % 1000 == 999)
                fake.Unwritable.Clear();
            sends.Add(producer.SendAsync("t", Body(i), cancellationToken: Token).AsTask());
            if (random.Next(200) == 0)
                await sends[^1];
        }

        SendReceipt[] receipts = await Task.WhenAll(sends);
        Assert.Equal(Enumerable.Range(0, 4000), fake.All().Order());
        for (int i = 0; i < receipts.Length; i++)
            Assert.Equal(i, fake.Stored[(uint)receipts[i].Queue + 1][(int)receipts[i].Offset.Value]);
        Assert.Equal((1, 0), (fake.InitCount, (int)fake.HighestEpoch));
    }

    [Fact]
    public async Task GivenAQueueThatIsKnownToTakeNone_WhenSentOn_ThenItIsNotAskedAgain()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync(Queues);
        fake.Unwritable[1] = fake.Unwritable[2] = fake.Unwritable[3] = true;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Quick);
        for (int i = 0; i < 100; i++)
            Assert.Equal(3, (await producer.SendAsync("t", Body(i), cancellationToken: Token)).Queue);
        Assert.All(fake.Requests, static request => Assert.All(
            request.Batches, static batch => Assert.Equal(4u, batch.Queue)));
    }

    [Fact]
    public async Task GivenKeys_WhenTheirQueueTakesNone_ThenTheyFailAtOnceAndNoKeyChangesItsQueue()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync(Queues);
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Quick);
        string[] keys = Enumerable.Range(0, 40).Select(static i => $"k{i}").ToArray();
        foreach (string key in keys)
            await producer.SendAsync("t", Body(0), key, cancellationToken: Token);
        fake.Unwritable[2] = true;

        List<int> stored = [];
        for (int i = 1; i < 400; i++)
        {
            string key = keys[i % keys.Length];
            int queue = Murmur2.QueueOf(Encoding.UTF8.GetBytes(key), Queues);
            ValueTask<SendReceipt> send = producer.SendAsync("t", Body(i), key, cancellationToken: Token);
            if (queue != 1)
            {
                Assert.Equal(queue, (await send).Queue);
                stored.Add(i);
                continue;
            }

            EQueueException failure = await Assert.ThrowsAsync<EQueueException>(async () => await send);
            Assert.Equal((ErrorCode.QueueNotWritable, true), (failure.Code, failure.IsRetriable));
        }

        fake.Unwritable.Clear();
        foreach (string key in keys)
            await producer.SendAsync("t", Body(400), key, cancellationToken: Token);
        Assert.Equal(stored, fake.All().Where(static body => body is > 0 and < 400).Order());
        Assert.Equal((1, 0), (fake.InitCount, (int)fake.HighestEpoch));
    }

    [Fact]
    public async Task GivenNoQueueThatTakesMessages_WhenOneDoesInTime_ThenAllThatWaitedIsStoredThere()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync(Queues);
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Quick);
        for (uint queue = 1; queue <= Queues; queue++)
            fake.Unwritable[queue] = true;
        Task<SendReceipt>[] sends = Enumerable.Range(0, 500).Select(
            i => producer.SendAsync("t", Body(i), cancellationToken: Token).AsTask()).ToArray();
        await Eventually.TrueAsync(() => fake.ProduceCount >= 3);
        fake.Unwritable.TryRemove(3, out _);
        Assert.All(await Task.WhenAll(sends), static receipt => Assert.Equal(2, receipt.Queue));
        Assert.Equal(Enumerable.Range(0, 500), fake.All().Order());
    }

    [Fact]
    public async Task GivenNoQueueThatTakesMessages_WhenTheDeliveryTimeoutIsOver_ThenTheErrorSaysWhy()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync(Queues);
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            Quick with { DeliveryTimeout = TimeSpan.FromMilliseconds(600) });
        for (uint queue = 1; queue <= Queues; queue++)
            fake.Unwritable[queue] = true;
        Task<SendReceipt>[] sends = Enumerable.Range(0, 100).Select(
            i => producer.SendAsync("t", Body(i), cancellationToken: Token).AsTask()).ToArray();
        foreach (Task<SendReceipt>? send in sends)
        {
            Assert.Equal(
                ErrorCode.QueueNotWritable, (await Assert.ThrowsAsync<EQueueException>(() => send)).Code);
        }

        fake.Unwritable.Clear();
        await producer.SendAsync("t", Body(100), cancellationToken: Token);
        Assert.Equal([100], fake.All());
    }

    [Fact]
    public async Task GivenALostAnswer_WhenTheQueueTakesNoneThen_ThenTheMessageDoesNotGoElsewhereAndIsThereOnce()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync(Queues);
        fake.Judge = _ => fake.ProduceCount == 1 ? Verdict.CloseLate : Verdict.Store;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Quick);
        fake.MeetBatch = static _ => ErrorCode.QueueNotWritable;
        Task<SendReceipt> lost = producer.SendAsync("t", Body(7), cancellationToken: Token).AsTask();
        await Eventually.TrueAsync(() => fake.ProduceCount >= 3);
        Assert.Single(fake.Requests.SelectMany(static one => one.Batches).Select(static one => one.Queue).Distinct());

        fake.MeetBatch = static _ => ErrorCode.None;
        fake.DeliverLate();
        await lost;
        Assert.Equal([7], fake.All());
    }

    /// <summary>Everything that can happen to a batch while queues open and close, mixed.</summary>
    [Theory]
    [InlineData(11)]
    [InlineData(12)]
    [InlineData(13)]
    [InlineData(14)]
    public async Task GivenQueuesThatOpenAndCloseAndConnectionsThatBreak_WhenSent_ThenNothingIsLostOrThereTwice(
        int seed)
    {
        await using FakeBroker fake = await FakeBroker.StartAsync(Queues);
        var random = new Random(seed);
        fake.Judge = request =>
        {
            lock (random)
            {
                uint queue = (uint)random.Next(1, Queues + 1);
                if (random.Next(4) == 0 && !fake.Unwritable.TryRemove(queue, out _))
                    fake.Unwritable[queue] = true;
                return random.Next(40) switch
                {
                    0 => Verdict.StoreAndClose,
                    1 => Verdict.Close,
                    2 => Verdict.StoreSilently,
                    _ => Verdict.Store,
                };
            }
        };
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(Quick);
        var sends = new Task<SendReceipt>[3000];
        for (int i = 0; i < sends.Length; i++)
        {
            string? key = i % 3 == 0 ? $"k{i % 30}" : null;
            sends[i] = producer.SendAsync("t", Body(i), key, cancellationToken: Token).AsTask();
            if (i % 100 == 99)
                await Task.WhenAny(sends[i]);
        }

        await ((Task)Task.WhenAll(sends)).ConfigureAwait(
            ConfigureAwaitOptions.SuppressThrowing | ConfigureAwaitOptions.ContinueOnCapturedContext);
        IReadOnlyList<int> stored = fake.All();
        Assert.Equal(stored.Count, stored.Distinct().Count());
        for (int i = 0; i < sends.Length; i++)
        {
            if (sends[i].IsCompletedSuccessfully)
            {
                SendReceipt receipt = await sends[i];
                Assert.Equal(i, fake.Stored[(uint)receipt.Queue + 1][(int)receipt.Offset.Value]);
                continue;
            }

            Assert.Equal(
                ErrorCode.QueueNotWritable, (await Assert.ThrowsAsync<EQueueException>(() => sends[i])).Code);
            Assert.DoesNotContain(i, stored);
        }
    }

    private static byte[] Body(int value) => BitConverter.GetBytes(value);
}
