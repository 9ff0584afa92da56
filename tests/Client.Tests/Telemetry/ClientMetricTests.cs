using System.Diagnostics.Metrics;
using EQueue.Support;

namespace EQueue.Client.Tests;

[Collection(nameof(ObservedTests))]
public sealed class ClientMetricTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAListener_WhenMessagesAreSentAndRead_ThenEachIsCountedOnceWithItsAttributes()
    {
        using var metrics = new MeterRecorder(ClientTelemetry.Name);
        await using TestBroker broker = await TestBroker.StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        for (int i = 0; i < 300; i++)
            _ = producer.SendAsync("orders", "one coffee"u8);
        producer.SendOneway("orders", "one more"u8);
        await producer.FlushAsync(Token);

        await using Consumer consumer = broker.Client.CreateConsumer("billing", ["orders"], AtEnd);
        int read = 0;
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            read += message.Body.Length > 0 ? 1 : 0;
        await consumer.CommitAsync(Token);

        Assert.Equal(301, read);
        Assert.Equal(301, metrics.Sum("messaging.client.sent.messages", "messaging.destination.name", "orders"));
        Assert.Equal(301, metrics.Sum("messaging.client.consumed.messages", "messaging.consumer.group.name", "billing"));
        Recorded sent = metrics.Of("messaging.client.sent.messages")[0];
        Assert.True(metrics.Of("messaging.client.sent.messages").Count < 300, "not once per message");
        Assert.Equal("{message}", sent.Instrument.Unit);
        Assert.Equal("equeue", sent.Tags["messaging.system"]);
        Assert.Equal("send", sent.Tags["messaging.operation.name"]);
        Assert.Equal(broker.Address, $"{sent.Tags["server.address"]}:{sent.Tags["server.port"]}");
        Assert.DoesNotContain("error.type", sent.Tags.Keys);
        foreach (string operation in (string[])["send", "fetch", "commit"])
        {
            IReadOnlyList<Recorded> took =
                metrics.Of("messaging.client.operation.duration", "messaging.operation.name", operation);
            Assert.NotEmpty(took);
            Assert.All(took, one => Assert.InRange(one.Value, 0, 60));
        }
    }

    [Fact]
    public async Task GivenAReaderOfATag_WhenItReadsMessagesOrBatches_ThenOnlyWhatItIsGivenIsCounted()
    {
        using var metrics = new MeterRecorder(ClientTelemetry.Name);
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        await producer.SendBatchAsync(
            "orders",
            [.. Enumerable.Range(0, 90).Select(i => new Message("x"u8.ToArray(), Tag: i % 3 == 0 ? "paid" : "open"))],
            Token);

        foreach (bool inBatches in (bool[])[false, true])
        {
            await using QueueReader reader = broker.Client.CreateReader(
                new ReaderOptions { StopAtEnd = true, Tags = ["paid"] });
            await reader.AssignAsync("orders", 0, StartPosition.Begin, Token);
            if (inBatches)
            {
                await foreach (ReceivedBatch batch in reader.ReadBatchesAsync(Token))
                    Assert.True(batch.NextOffset.Value > 0);
            }
            else
            {
                int left = 10;
                await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
                {
                    if (--left == 0)
                        break;
                }

                await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
                    Assert.Equal("paid", message.Tag);
            }
        }

        Assert.Equal(60, metrics.Sum("messaging.client.consumed.messages"));
    }

    [Fact]
    public async Task GivenABrokerThatIsAway_WhenSending_ThenFailuresRetriesAndReconnectsAreCounted()
    {
        using var metrics = new MeterRecorder(ClientTelemetry.Name);
        await using TestBroker broker = await TestBroker.StartAsync();
        await using Producer producer = broker.Client.CreateProducer(
            new ProducerOptions { DeliveryTimeout = TimeSpan.FromSeconds(2) });
        await producer.SendAsync("orders", "first"u8, cancellationToken: Token);
        await broker.StopAsync();
        EQueueException failure = await Assert.ThrowsAsync<EQueueException>(
            async () => await producer.SendAsync("orders", "lost"u8, cancellationToken: Token));
        await broker.StartBrokerAsync();
        await Eventually.TrueAsync(async () =>
        {
            try
            {
                await producer.SendAsync("orders", "again"u8, cancellationToken: Token);
                return true;
            }
            catch (EQueueException)
            {
                return false;
            }
        });

        Assert.Equal(
            1, metrics.Sum("messaging.client.sent.messages", "error.type", failure.Code.ToString()), tolerance: 0.1);
        Assert.True(metrics.Sum("equeue.client.reconnects") >= 1);
        Assert.All(metrics.Of("equeue.client.reconnects"), one => Assert.Contains("server.port", one.Tags.Keys));
    }

    [Fact]
    public async Task GivenARefusalThatMayPass_WhenTheBatchGoesAgain_ThenItIsCountedWithWhatItMet()
    {
        using var metrics = new MeterRecorder(ClientTelemetry.Name);
        await using FakeBroker broker = await FakeBroker.StartAsync();
        broker.Script = static request => request < 2 ? Verdict.RefuseFirst : Verdict.Store;
        await using var client = new EQueueClient(new ClientOptions { Addresses = broker.Address });
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("t", BitConverter.GetBytes(1).AsSpan(), cancellationToken: Token);
        Assert.Equal(2, metrics.Sum("equeue.client.retries", "error.type", "StorageFull"));
        Assert.Equal(1, metrics.Sum("messaging.client.sent.messages"));
    }

    [Fact]
    public async Task GivenProducersAndReaders_WhenTheirLevelsAreAsked_ThenTheyAreSummedAndGoWithThem()
    {
        using var metrics = new MeterRecorder(ClientTelemetry.Name);
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Script = static _ => Verdict.Hold;
        await using (var client = new EQueueClient(new ClientOptions { Addresses = fake.Address }))
        {
            Producer[] producers = new[] { client.CreateProducer(), client.CreateProducer() };
            Task<SendReceipt>[] sends = producers.Select(
                producer => producer.SendAsync("t", BitConverter.GetBytes(1).AsSpan(), cancellationToken: Token)
                    .AsTask()).ToArray();
            await Eventually.TrueAsync(() => fake.ProduceCount == 2);
            Assert.Equal(2, Assert.Single(metrics.Observe("equeue.client.in_flight.requests")).Value);
            Assert.InRange(Assert.Single(metrics.Observe("equeue.client.in_flight.size")).Value, 2 * 65, 2 * 200);
            Assert.Equal(
                producers.Sum(static producer => producer.BufferedBytes),
                Assert.Single(metrics.Observe("equeue.client.buffer.size")).Value);
            Assert.Equal(0, Assert.Single(metrics.Observe("equeue.client.waiting_sends")).Value);
            fake.Release();
            await Task.WhenAll(sends);
            Assert.Equal(0, Assert.Single(metrics.Observe("equeue.client.buffer.size")).Value);
        }

        Assert.Empty(metrics.Observe("equeue.client.in_flight.requests"));

        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using (Producer sender = broker.Client.CreateProducer())
        {
            for (int i = 0; i < 10; i++)
                await sender.SendAsync("orders", "x"u8, cancellationToken: Token);
        }

        await using (QueueReader reader = broker.Client.CreateReader())
        {
            await reader.AssignAsync("orders", 0, StartPosition.Begin, Token);
            await using IAsyncEnumerator<ReceivedMessage> messages =
                reader.ReadAllAsync(Token).GetAsyncEnumerator(Token);
            for (int i = 0; i < 5; i++)
                Assert.True(await messages.MoveNextAsync());
            // Ten messages are there; four are done with, the fifth is in hand.
            await Eventually.TrueAsync(
                () => metrics.Observe("equeue.client.backlog", "messaging.destination.name", "orders") is [{ Value: 6 }]);
            Assert.True(Assert.Single(metrics.Observe("equeue.client.prefetch.size")).Value > 0);
        }

        Assert.Empty(metrics.Observe("equeue.client.backlog"));
    }

    [Fact]
    public async Task GivenKeysThatWaitForABrokerNeverSeen_WhenOthersWereSent_ThenTheyCountAsWaitingSends()
    {
        using var metrics = new MeterRecorder(ClientTelemetry.Name);
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        await plant.Second.StopAsync();
        await using EQueueClient client = plant.NewClient();
        await using Producer producer = client.CreateProducer();
        Task<SendReceipt>[] keyed =
            Enumerable.Range(0, 5).Select(i => TwoBrokers.SendAsync(producer, i, $"key-{i}")).ToArray();
        await TwoBrokers.SendAsync(producer, 5, key: null);

        await Eventually.TrueAsync(() => metrics.Observe("equeue.client.waiting_sends") is [{ Value: 5 }]);
        await plant.Second.StartBrokerAsync();
        await Task.WhenAll(keyed);
        await Eventually.TrueAsync(() => metrics.Observe("equeue.client.waiting_sends") is [{ Value: 0 }]);
    }

    [Fact]
    public async Task GivenAListenerThatThrows_WhenMessagesAreSentAndRead_ThenTheyAreAllTheSame()
    {
        using var listener = new MeterListener
        {
            InstrumentPublished = static (instrument, listener) =>
            {
                if (instrument.Meter.Name == ClientTelemetry.Name && !instrument.IsObservable)
                    listener.EnableMeasurementEvents(instrument);
            },
        };
        listener.SetMeasurementEventCallback<long>(static (_, _, _, _) => throw new InvalidOperationException("Mine."));
        listener.SetMeasurementEventCallback<double>(static (_, _, _, _) => throw new InvalidOperationException("Mine."));
        listener.Start();
        await using TestBroker broker = await TestBroker.StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        for (int i = 0; i < 20; i++)
            await producer.SendAsync("orders", "x"u8, cancellationToken: Token);
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["orders"], AtEnd);
        int read = 0;
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            read++;
        await consumer.CommitAsync(Token);
        Assert.Equal(20, read);
    }

    [Fact]
    public async Task GivenTheClientsInstruments_WhenThePageIsRead_ThenEachStandsThereAsItIs()
    {
        using var metrics = new MeterRecorder(ClientTelemetry.Name);
        await using var client = new EQueueClient("localhost");
        await using Producer producer = client.CreateProducer();
        Assert.Equal(11, metrics.Instruments.Count);
        Assert.Empty(TelemetryPage.Miss(metrics.Instruments));
    }

    private static ConsumerOptions AtEnd => new() { StopAtEnd = true };
}
