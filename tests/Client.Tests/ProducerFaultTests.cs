using System.Diagnostics;
using EQueue.Support;

namespace EQueue.Client.Tests;

public sealed class ProducerFaultTests
{
    internal static readonly ProducerOptions SmallBatches = new()
    {
        BatchBytes = 1024,
        RequestTimeout = TimeSpan.FromMilliseconds(300),
        RetryBackoffMax = TimeSpan.FromMilliseconds(50),
    };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenBatchThatRunsOutOfTime_WhenTheBrokerIsBack_ThenTheEpochRisesAndTheRestArrives()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Script = n => n is >= 1 and < 6 ? Verdict.Ignore : Verdict.Store;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(SmallBatches with
        {
            RequestTimeout = TimeSpan.FromMilliseconds(100),
            DeliveryTimeout = TimeSpan.FromMilliseconds(400),
            MaxInFlight = 1,
        });

        await SendThreeAsync(fake, producer);

        Assert.Equal([0, 2], fake.All());
        Assert.Equal(1, fake.HighestEpoch);
    }

    [Fact]
    public async Task GivenAStoreThatFailedBehindTheBytes_WhenTheBatchRunsOutOfTime_ThenTheNextIsNotTakenForIt()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Refusal = ErrorCode.StoreFaulted;
        fake.Script = n => n == 1 ? Verdict.StoreAndFault : n > 1 ? Verdict.RefuseFirst : Verdict.Store;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(SmallBatches with
        {
            DeliveryTimeout = TimeSpan.FromMilliseconds(400),
        });

        await SendThreeAsync(fake, producer);

        Assert.Equal([0, 1, 2], fake.All());
        Assert.Equal(1, fake.HighestEpoch);
    }

    [Fact]
    public async Task GivenCopiesOfTwoBatchesThatComeLate_WhenTheFirstHasRunOutOfTime_ThenNeitherIsStoredTwice()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        HashSet<int> seen = [];
        fake.Judge = request => seen.Add(request.Batches[0].FirstBody) ? Verdict.IgnoreLate : Verdict.Ignore;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(SmallBatches with
        {
            RequestTimeout = TimeSpan.FromMilliseconds(100),
            DeliveryTimeout = TimeSpan.FromSeconds(2),
            MaxInFlight = 4,
        });

        // Too large to leave in one request.
        Task<SendReceipt> first = producer.SendAsync("t", new byte[600], cancellationToken: Token).AsTask();
        await Eventually.TrueAsync(() => fake.ProduceCount >= 4);
        byte[] body = [.. BitConverter.GetBytes(1), .. new byte[600]];
        Task<SendReceipt> second = producer.SendAsync("t", body, cancellationToken: Token).AsTask();
        await Eventually.TrueAsync(() => fake.Requests.Any(static request => request.Batches[0].FirstBody == 1));
        EQueueException expired = await Assert.ThrowsAsync<EQueueException>(() => first);

        // The second one is asked for under the old epoch and misses the first; then their copies come, both fit.
        fake.BeforeInit = request => Assert.True(request.Known.Id < 0 || fake.DeliverLate() == ErrorCode.None);
        fake.Judge = static _ => Verdict.Store;
        EQueueException untold = await Assert.ThrowsAsync<EQueueException>(() => second);
        await producer.SendAsync("t", BitConverter.GetBytes(2), cancellationToken: Token);

        Assert.Equal((ErrorCode.Timeout, ErrorCode.Timeout), (expired.Code, untold.Code));
        Assert.Equal([0, 1, 2], fake.All());
        Assert.Equal(1, fake.HighestEpoch);
    }

    [Fact]
    public async Task GivenLostState_WhenTheBrokerAsksForAnEarlierSequence_ThenSendingGoesOnInANewEpoch()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(SmallBatches);
        await SendAsync(producer, 100);
        fake.Refusal = ErrorCode.OutOfOrderSequence;
        int next = fake.ProduceCount;
        fake.Script = n => n == next ? Verdict.RefuseFirst : Verdict.Store;

        await SendAsync(producer, 100);

        Assert.Equal(200, fake.All().Count);
        Assert.Equal(1, fake.HighestEpoch);
    }

    [Theory]
    [InlineData(ErrorCode.UnknownProducer)]
    [InlineData(ErrorCode.ProducerFenced)]
    public async Task GivenForgottenProducer_WhenSending_ThenItGoesOnUnderANewId(ErrorCode refusal)
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Refusal = refusal;
        fake.Script = n => n == 3 ? Verdict.RefuseFirst : Verdict.Store;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(SmallBatches);

        await SendAsync(producer, 1000);

        Assert.Equal(Enumerable.Range(0, 1000), fake.All());
        Assert.Equal(2, fake.InitCount);
    }

    [Fact]
    public async Task GivenBatchRefusedForGood_WhenSending_ThenItFailsAndTheOthersArriveInOrder()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Refusal = ErrorCode.NotAuthorized;
        fake.Script = n => n == 3 ? Verdict.RefuseFirst : Verdict.Store;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(SmallBatches);
        ValueTask<SendReceipt>[] sends = Start(producer, 1000);
        List<int> failed = [];
        for (int i = 0; i < sends.Length; i++)
        {
            try
            {
                await sends[i];
            }
            catch (EQueueException exception)
            {
                Assert.Equal(ErrorCode.NotAuthorized, exception.Code);
                failed.Add(i);
            }
        }

        Assert.NotEmpty(failed);
        Assert.Equal(Enumerable.Range(0, 1000).Except(failed), fake.All());
    }

    [Fact]
    public async Task GivenFullMemory_WhenSendingGoesOn_ThenItWaitsAndEndsTyped()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(new ProducerOptions
        {
            BatchBytes = 4096,
            BufferMemoryBytes = 64 * 1024,
            MaxInFlight = 1,
            OnewayWhenFull = OnewayFullPolicy.Throw,
        });
        byte[] body = new byte[1000];
        await producer.SendAsync("t", body, cancellationToken: Token);
        fake.Script = static _ => Verdict.Hold;
        List<Task<SendReceipt>> accepted = [];
        while (producer.BufferedBytes < 56 * 1024)
            accepted.Add(producer.SendAsync("t", body, cancellationToken: Token).AsTask());
        for (int i = 0; i < 20; i++)
            accepted.Add(producer.SendAsync("t", body, cancellationToken: Token).AsTask());
        Assert.True(producer.BufferedBytes <= 64 * 1024);

        using var patience = new CancellationTokenSource(50);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            async () => await producer.SendAsync("t", body, cancellationToken: patience.Token));
        EQueueException full = Assert.Throws<EQueueException>(() => FillOneway(producer, body));
        fake.Release();
        fake.Script = static _ => Verdict.Store;
        await Task.WhenAll(accepted);

        Assert.Equal(ErrorCode.LimitReached, full.Code);
        await producer.FlushAsync(Token);
        Assert.Equal(0, producer.BufferedBytes);
    }

    [Fact]
    public async Task GivenABrokerThatIsAway_WhenManyOnewayBatchesWaitForIt_ThenDisposeDoesNotWaitForOneAfterTheOther()
    {
        const int Batches = 30;
        var requestTimeout = TimeSpan.FromSeconds(1);
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(
            new ClientOptions { Addresses = fake.Address, RequestTimeout = requestTimeout });
        Producer producer = client.CreateProducer(
            SmallBatches with { BatchBytes = 1024, DeliveryTimeout = TimeSpan.FromMilliseconds(500) });
        await producer.SendAsync("t", new byte[4], cancellationToken: Token);
        await fake.DisposeAsync();
        for (int i = 0; i < Batches; i++)
            producer.SendOneway("t", new byte[900], cancellationToken: Token);

        var began = Stopwatch.StartNew();
        await producer.DisposeAsync();

        // One after the other they would take until the close timeout, ten seconds.
        Assert.InRange(began.Elapsed, TimeSpan.Zero, Batches / 6 * requestTimeout);
    }

    [Fact]
    public async Task GivenNobodyListens_WhenTheTimeIsUp_ThenTheSendFailsTyped()
    {
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = "127.0.0.1:1",
            RequestTimeout = TimeSpan.FromMilliseconds(200),
        });
        await using Producer producer = client.CreateProducer(
            new ProducerOptions { DeliveryTimeout = TimeSpan.FromMilliseconds(500) });

        EQueueException failure = await Assert.ThrowsAsync<EQueueException>(
            async () => await producer.SendAsync("t", "x"u8, cancellationToken: Token));

        Assert.Equal(ErrorCode.Timeout, failure.Code);
    }

    [Fact]
    public async Task GivenSendsInFlight_WhenDisposed_ThenWhatWasAcceptedIsDelivered()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        Producer producer = client.CreateProducer(SmallBatches);
        await producer.SendAsync("t", BitConverter.GetBytes(-1), cancellationToken: Token);
        ValueTask<SendReceipt>[] sends = Start(producer, 5000);

        await producer.DisposeAsync();

        foreach (ValueTask<SendReceipt> send in sends)
            Assert.True((await send).Offset.Value >= 0);
        Assert.Equal(5001, fake.All().Count);
        await Assert.ThrowsAsync<ObjectDisposedException>(
            async () => await producer.SendAsync("t", "late"u8, cancellationToken: Token));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenSilentBroker_WhenAborted_ThenEverySendFailsAtOnceAndADisposalThatWaitsEnds(bool isDisposed)
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(new ProducerOptions
        {
            BatchBytes = 1024,
            BufferMemoryBytes = 4096,
            RequestTimeout = TimeSpan.FromDays(1),
            DeliveryTimeout = TimeSpan.FromDays(20),
        });
        await producer.SendAsync("t", BitConverter.GetBytes(0), cancellationToken: Token);
        fake.Script = static _ => Verdict.Ignore;
        Task<SendReceipt>[] sends = Enumerable.Range(1, 500)
            .Select(i => producer.SendAsync("t", BitConverter.GetBytes(i), cancellationToken: Token).AsTask())
            .ToArray();
        Task disposal = isDisposed ? producer.DisposeAsync().AsTask() : Task.CompletedTask;
        Assert.Equal(isDisposed, !disposal.IsCompleted);

        await producer.AbortAsync();

        await disposal;
        foreach (Task<SendReceipt>? send in sends)
            await Assert.ThrowsAsync<ProducerClosedException>(() => send);
    }

    [Fact]
    public async Task GivenSilentBroker_WhenDisposed_ThenEverySendEndsTyped()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Script = static _ => Verdict.Ignore;
        await using var client = new EQueueClient(fake.Address);
        Producer producer =
            client.CreateProducer(SmallBatches with { DeliveryTimeout = TimeSpan.FromMilliseconds(500) });
        Task<SendReceipt>[] sends = Start(producer, 500).Select(send => send.AsTask()).ToArray();

        await producer.DisposeAsync();

        foreach (Task<SendReceipt>? send in sends)
        {
            EQueueException end = await Assert.ThrowsAsync<EQueueException>(() => send);
            Assert.True(end.Code is ErrorCode.Timeout or ErrorCode.Disposed, end.Message);
        }
    }

    [Fact]
    public async Task GivenSendAwaitedTwice_WhenItIsAskedAgain_ThenItThrowsAndNothingElseSuffers()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(SmallBatches);
        await producer.SendAsync("t", BitConverter.GetBytes(-1), cancellationToken: Token);
        for (int round = 0; round < 200; round++)
        {
            ValueTask<SendReceipt> first =
                producer.SendAsync("t", BitConverter.GetBytes(round), cancellationToken: Token);
            ValueTask<SendReceipt> stale = first;
            Assert.Equal(round + 1, (await first).Offset.Value);
            Assert.Throws<InvalidOperationException>(() => stale.GetAwaiter().GetResult());
            await Assert.ThrowsAsync<InvalidOperationException>(async () => await stale);
        }

        Assert.Equal(Enumerable.Range(-1, 201), fake.All());
    }

    [Fact]
    public async Task GivenReceiptsTaken_WhenAwaitedAgainMuchLater_ThenEachThrowsAndNothingElseSuffers()
    {
        // More messages than the awaitables of one batch object can tell apart: several follow one another.
        const int rounds = 300, window = 5_000;
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("t", BitConverter.GetBytes(-1), cancellationToken: Token);
        var stale = new List<ValueTask<SendReceipt>>();
        var sends = new ValueTask<SendReceipt>[window];
        for (int round = 0; round < rounds; round++)
        {
            for (int i = 0; i < window; i++)
            {
                byte[] body = BitConverter.GetBytes((round * window) + i);
                sends[i] = producer.SendAsync("t", body, cancellationToken: Token);
            }

            await producer.FlushAsync(Token);
            foreach (ValueTask<SendReceipt> old in stale)
                Assert.Throws<InvalidOperationException>(() => old.GetAwaiter().GetResult());
            for (int i = 0; i < window; i++)
                Assert.Equal((round * window) + i + 1, (await sends[i]).Offset.Value);
            stale.Add(sends[round % window]);
        }

        Assert.Equal(Enumerable.Range(-1, (rounds * window) + 1), fake.All());
    }

    [Fact]
    public async Task GivenSendsThatNobodyAwaits_WhenManyFollow_ThenMemoryIsGivenBack()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(SmallBatches);
        for (int i = 0; i < 20_000; i++)
            _ = producer.SendAsync("t", BitConverter.GetBytes(i), cancellationToken: Token);
        await producer.FlushAsync(Token);

        Assert.Equal(0, producer.BufferedBytes);
        Assert.Equal(Enumerable.Range(0, 20_000), fake.All());
    }

    [Fact]
    public async Task GivenAnotherStoreAtTheAddress_WhenSending_ThenItsOwnQueuesAreUsed()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(SmallBatches);
        await SendAsync(producer, 10);
        fake.StoreId = Guid.NewGuid();
        fake.CloseAll();

        bool sent = false;
        for (int tries = 0; tries < 100 && !sent; tries++)
        {
            try
            {
                await producer.SendAsync("t", BitConverter.GetBytes(99), cancellationToken: Token);
                sent = true;
            }
            catch (EQueueException exception)
            {
                Assert.Equal(ErrorCode.UnknownQueue, exception.Code);
            }
        }

        Assert.True(sent);
        Assert.Equal(99, fake.All()[^1]);
        Assert.True(fake.InitCount >= 2);
    }

    private static void FillOneway(Producer producer, byte[] body)
    {
        for (int i = 0; i < 1_000; i++)
            producer.SendOneway("t", body);
    }

    private static ValueTask<SendReceipt>[] Start(Producer producer, int count, int keys = 0)
    {
        var sends = new ValueTask<SendReceipt>[count];
        for (int i = 0; i < count; i++)
        {
            string? key = keys == 0 ? null : "key" + (i % keys);
            sends[i] = producer.SendAsync("t", BitConverter.GetBytes(i), key, cancellationToken: Token);
        }

        return sends;
    }

    /// <summary>Sends 0, which is stored, 1, which runs out of time, and 2, when all is well again.</summary>
    private static async Task SendThreeAsync(FakeBroker fake, Producer producer)
    {
        await producer.SendAsync("t", BitConverter.GetBytes(0), cancellationToken: Token);
        EQueueException expiry = await Assert.ThrowsAsync<EQueueException>(
            async () => await producer.SendAsync("t", BitConverter.GetBytes(1), cancellationToken: Token));
        Assert.Equal(ErrorCode.Timeout, expiry.Code);
        fake.Script = static _ => Verdict.Store;
        await producer.SendAsync("t", BitConverter.GetBytes(2), cancellationToken: Token);
    }

    internal static async Task<List<SendReceipt>> SendAsync(Producer producer, int count, int keys = 0)
    {
        List<SendReceipt> receipts = [];
        foreach (ValueTask<SendReceipt> send in Start(producer, count, keys))
            receipts.Add(await send);
        return receipts;
    }
}
