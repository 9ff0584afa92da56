using System.Diagnostics;
using System.Diagnostics.Metrics;

namespace EQueue.Client.Tests;

/// <summary>
/// What a message costs on the heap, over everything in this process: producer, consumer and the broker beside them.
/// </summary>
[Collection(nameof(AllocationTests))]
[CollectionDefinition(nameof(AllocationTests), DisableParallelization = true)]
public sealed class AllocationTests
{
    private const int Warmup = 200_000;
    private const int Count = 1_000_000;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAMillionMessages_WhenSentAndRead_ThenEachCostsUnderFiftyBytes()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["cheap"]);
        await consumer.JoinAsync(Token);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        await SendAndReadAsync(producer, messages, Warmup);

        long before = GC.GetTotalAllocatedBytes(precise: true);
        await SendAndReadAsync(producer, messages, Count);
        double perMessage = (GC.GetTotalAllocatedBytes(precise: true) - before) / (double)Count;

        TestContext.Current.TestOutputHelper?.WriteLine($"{perMessage:F1} bytes per message.");
        Assert.True(perMessage < 50, $"{perMessage:F1} bytes per message.");
    }

    [Fact]
    public async Task GivenListenersToEverything_WhenAMillionAreSentAndRead_ThenEachCostsUnderFiftyBytesStill()
    {
        using var metrics = new MeterListener
        {
            InstrumentPublished = static (instrument, listener) =>
            {
                if (instrument.Meter.Name == ClientTelemetry.Name)
                    listener.EnableMeasurementEvents(instrument);
            },
        };
        long told = 0L;
        metrics.SetMeasurementEventCallback<long>((_, _, _, _) => Interlocked.Increment(ref told));
        metrics.SetMeasurementEventCallback<double>((_, _, _, _) => Interlocked.Increment(ref told));
        metrics.Start();
        long spans = 0L;
        using var traces = new ActivityListener
        {
            ShouldListenTo = static source => source.Name == ClientTelemetry.Name,
            Sample = static (ref ActivityCreationOptions<ActivityContext> _) =>
                ActivitySamplingResult.AllDataAndRecorded,
            ActivityStopped = _ => Interlocked.Increment(ref spans),
        };
        ActivitySource.AddActivityListener(traces);
        await using TestBroker broker = await TestBroker.StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["cheap"]);
        await consumer.JoinAsync(Token);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        using Activity work = new Activity("sampled").SetIdFormat(ActivityIdFormat.W3C);
        work.ActivityTraceFlags = ActivityTraceFlags.Recorded;
        work.Start();
        await SendAndReadAsync(producer, messages, Warmup);

        long before = GC.GetTotalAllocatedBytes(precise: true);
        (long toldBefore, long spansBefore) = (told, spans);
        await SendAndReadAsync(producer, messages, Count);
        long allocated = GC.GetTotalAllocatedBytes(precise: true) - before;
        double perMessage = allocated / (double)Count;

        TestContext.Current.TestOutputHelper?.WriteLine(
            $"{perMessage:F1} bytes per message, {spans - spansBefore} spans, {told - toldBefore} measurements.");
        Assert.InRange(spans - spansBefore, 1, Count / 10);
        Assert.InRange(told - toldBefore, 1, Count / 10);
        Assert.True(perMessage < 50, $"{perMessage:F1} bytes per message.");
    }

    [Fact]
    public async Task GivenCallsOfTenMessages_WhenManyAreSent_ThenACallCostsItsReceiptAndLittleElse()
    {
        const int Calls = 100_000;
        await using TestBroker broker = await TestBroker.StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        await SendCallsAsync(producer, Calls);

        long before = GC.GetTotalAllocatedBytes(precise: true);
        await SendCallsAsync(producer, Calls);
        double perCall = (GC.GetTotalAllocatedBytes(precise: true) - before) / (double)Calls;

        TestContext.Current.TestOutputHelper?.WriteLine($"{perCall:F1} bytes per call.");

        // The receipt has 64. What else there is belongs to batches, which are small where the machine is busy.
        Assert.InRange(perCall, 64, 250);
    }

    private static async Task SendCallsAsync(Producer producer, int count)
    {
        Message[] messages = [.. Enumerable.Repeat(new Message(new byte[10]), 10)];
        var window = new ValueTask<BatchReceipt>[1_000];
        for (int i = 0; i < count + window.Length; i++)
        {
            if (i >= window.Length)
                await window[i % window.Length];
            if (i < count)
                window[i % window.Length] = producer.SendBatchAsync("cheap", messages, Token);
        }
    }

    private static async Task SendAndReadAsync(
        Producer producer, IAsyncEnumerator<ReceivedMessage> messages, int count)
    {
        var reading = Task.Run(
            async () =>
            {
                for (int i = 0; i < count; i++)
                {
                    Assert.True(await messages.MoveNextAsync());
                    if (messages.Current.Body.Length != 128)
                        throw new InvalidOperationException("A body is not what was sent.");
                }
            },
            Token);
        await Task.Run(() => SendAsync(producer, count), Token);
        await reading;
    }

    private static async Task SendAsync(Producer producer, int count)
    {
        byte[] body = new byte[128];
        var window = new ValueTask<SendReceipt>[10_000];
        for (int i = 0; i < count; i++)
        {
            if (i >= window.Length)
                await Take(window, i);
            window[i % window.Length] = producer.SendAsync("cheap", body.AsSpan());
        }

        for (int i = count; i < count + window.Length; i++)
            await Take(window, i);
    }

    private static ValueTask<SendReceipt> Take(ValueTask<SendReceipt>[] window, int index) =>
        window[index % window.Length];
}
