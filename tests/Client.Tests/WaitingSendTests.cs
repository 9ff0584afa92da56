using System.Buffers.Binary;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Sends that wait for memory or a route: many of them, in order, until their time is up. Alone, for the
/// memory of the process is measured.</summary>
[Collection(nameof(AllocationTests))]
public sealed class WaitingSendTests
{
    /// <summary>EQUEUE_WAITING_SENDERS sets how many wait at once.</summary>
    private static readonly int Senders = LongRun.Setting("EQUEUE_WAITING_SENDERS", 50_000);

    private static readonly int Connections = Math.Clamp(Senders / 7_812, 4, 128);

    private static readonly ProducerOptions LittleMemory = new() { BatchBytes = 1024, BufferMemoryBytes = 16 * 1024 };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAFullTopic_WhenManySendersWait_ThenEachCostsLittleAndAllResumeOnceThereIsRoom()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await broker.Client.Admin.CreateTopicAsync("full", new TopicSettings { MaxBacklogMessages = 1000 }, Token);
        var clients = new EQueueClient[Connections];
        var producers = new Producer[Connections];
        for (int i = 0; i < Connections; i++)
        {
            clients[i] = new EQueueClient(broker.Address);
            producers[i] = clients[i].CreateProducer(
                LittleMemory with { DeliveryTimeout = TimeSpan.FromMinutes(30) });
        }

        // The bound is full and so is each producer's memory: a send that comes now waits.
        Task[] filling = Enumerable.Range(0, 4_000 + (Connections * 1_000))
            .Select(i => SendOnceAsync(producers[i % Connections], -1)).ToArray();
        await Eventually.TrueAsync(() => filling.Count(send => send.IsCompleted) > 900);
        await Eventually.TrueAsync(
            () => producers.All(producer => producer.BufferedBytes > 0), "every producer holds messages");
        var sends = new Task[Senders];
        long before = GC.GetTotalMemory(forceFullCollection: true);
        for (int i = 0; i < Senders; i++)
            sends[i] = SendOnceAsync(producers[i % Connections], i);
        double perSender = (GC.GetTotalMemory(forceFullCollection: true) - before) / (double)Senders;
        Assert.DoesNotContain(sends, send => send.IsCompleted);
        TestContext.Current.TestOutputHelper?.WriteLine(
            $"{Senders} senders over {Connections} connections wait: {perSender:0} bytes each");
        Assert.InRange(perSender, 1, 500);

        int[] counts = new int[Senders];
        await using (Consumer consumer = broker.Client.CreateConsumer("readers", ["full"]))
        {
            int read = 0;
            await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            {
                int value = BinaryPrimitives.ReadInt32LittleEndian(message.Body.Span);
                if (value >= 0)
                    counts[value]++;
                if (++read == Senders + filling.Length)
                    break;
            }
        }

        await Task.WhenAll(sends).WaitAsync(TimeSpan.FromMinutes(1), Token);
        await Task.WhenAll(filling).WaitAsync(TimeSpan.FromMinutes(1), Token);
        Assert.All(counts, count => Assert.Equal(1, count));
        Assert.Equal(Senders + filling.Length, (await broker.Client.Admin.DescribeTopicAsync("full", Token)).Queues[0].End.Value);
        foreach (EQueueClient client in clients)
            await client.DisposeAsync();
    }

    [Fact]
    public async Task GivenNoMemory_WhenManyWaitAndSomeGiveUp_ThenTheOthersAreSentInTheOrderOfTheCalls()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Judge = _ => Verdict.Hold;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(LittleMemory);
        using var given = new CancellationTokenSource();
        using var late = new CancellationTokenSource();
        var random = new Random(1);
        var sends = new List<(int Value, bool IsGivenUp, Task Send)>();
        for (int i = 0; i < 2_000; i++)
        {
            bool isGivenUp = i > 1_000 && random.Next(3) == 0;
            CancellationToken token = !isGivenUp ? CancellationToken.None : i % 2 == 0 ? given.Token : late.Token;
            // Large enough that the memory takes none of those who may give up.
            byte[] body = new byte[100];
            BinaryPrimitives.WriteInt32LittleEndian(body, i);
            sends.Add((i, isGivenUp, producer.SendAsync("t", body, cancellationToken: token).AsTask()));
        }

        await given.CancelAsync();
        foreach ((int value, bool isGivenUp, Task send) in sends.Where(one => one.IsGivenUp && one.Value % 2 == 0))
            Assert.Equal(given.Token, (await Assert.ThrowsAsync<OperationCanceledException>(() => send)).CancellationToken);
        fake.Judge = _ => Verdict.Store;
        fake.Release();
        await late.CancelAsync();
        (int Value, bool IsGivenUp, bool IsCompletedSuccessfully)[] outcomes =
            await Task.WhenAll(sends.Select(async one =>
        {
            await ((Task)one.Send).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            return (one.Value, one.IsGivenUp, one.Send.IsCompletedSuccessfully);
        }));
        Assert.All(outcomes, one => Assert.True(one.IsGivenUp || one.IsCompletedSuccessfully, $"{one.Value} failed"));
        int[] stored = [.. fake.Bodies("t")];
        Assert.Equal(outcomes.Where(one => one.IsCompletedSuccessfully).Select(one => one.Value), stored);
    }

    [Fact]
    public async Task GivenNoMemory_WhenTheDeadlinePasses_ThenThoseWhoWaitFailInTimeAndLaterOnesAreSent()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Judge = _ => Verdict.Hold;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            LittleMemory with { DeliveryTimeout = TimeSpan.FromMilliseconds(400) });
        Task<SendReceipt>[] sends =
            Enumerable.Range(0, 3_000).Select(i => producer.SendAsync("t", new byte[8]).AsTask()).ToArray();
        int told = 0;
        for (int i = 0; i < 10; i++)
        {
            producer.Send(
                "t",
                new Message(new byte[8]),
                (_, _, error) => Interlocked.Add(ref told, error?.Code == ErrorCode.Timeout ? 1 : 1000));
        }

        foreach (Task<SendReceipt>? send in sends)
            Assert.Equal(ErrorCode.Timeout, (await Assert.ThrowsAsync<EQueueException>(() => send)).Code);
        await Eventually.TrueAsync(() => Volatile.Read(ref told) == 10);
        fake.Judge = _ => Verdict.Store;
        fake.Release();
        await producer.SendAsync("t", new byte[8], cancellationToken: Token);
    }

    [Fact]
    public async Task GivenSendersThatWait_WhenTheProducerIsAborted_ThenAllAreToldAndNothingIsLeft()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Judge = _ => Verdict.Hold;
        await using var client = new EQueueClient(fake.Address);
        Producer producer = client.CreateProducer(LittleMemory);
        Task<SendReceipt>[] sends =
            Enumerable.Range(0, 3_000).Select(i => producer.SendAsync("t", new byte[8]).AsTask()).ToArray();
        await producer.AbortAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(30), Token);
        var mayBeStored = new List<bool>();
        foreach (Task<SendReceipt>? send in sends)
            mayBeStored.Add((await Assert.ThrowsAsync<ProducerClosedException>(() => send)).MayBeStored);

        // What the broker holds may be stored: the first ones. What waited for memory was never sent.
        Assert.Equal(mayBeStored.OrderDescending(), mayBeStored);
        Assert.False(mayBeStored[^1]);
    }

    private static async Task SendOnceAsync(Producer producer, int value)
    {
        byte[] body = new byte[16];
        BinaryPrimitives.WriteInt32LittleEndian(body, value);
        await producer.SendAsync("full", body);
    }
}
