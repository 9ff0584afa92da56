using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>Bounds that show only under load: unanswered requests, answers that no peer takes.</summary>
public sealed class LimitTests
{
    [Fact]
    [EffectOf("Limits:MaxRequestsInFlight")]
    public async Task GivenTheLimitOfUnansweredRequests_WhenMoreAreSent_ThenTheyAreReadWhenTheOthersAreAnswered()
    {
        const int Sent = 40;
        var disk = new FaultyDisk();
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(options with
        {
            Store = options.Store with { Disk = disk },
            Limits = options.Limits with { MaxRequestsInFlight = 16 },
        });
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        using RawConnection raw = await RawConnection.ConnectAsync(broker.EndPoint);
        await raw.SayHelloAsync();
        disk.HoldWrites();
        try
        {
            // A small one alone would be written by the connection's receive loop, and held there.
            await raw.SendAsync(Frame(new string('a', 64_000)));
            for (int i = 1; i < Sent; i++)
                await raw.SendAsync(Frame("a"));
            await Eventually.TrueAsync(
                async () => await peer.FigureAsync("broker.produceRequests") == 17, "One above the limit is read.");
            for (int i = 0; i < 100; i++)
                Assert.Equal(17, await peer.FigureAsync("broker.produceRequests"));
        }
        finally
        {
            disk.ReleaseWrites();
        }

        for (int i = 0; i < Sent; i++)
            Assert.Equal((Opcode.Produce, ErrorCode.None), await raw.ReceiveAsync());

        byte[] Frame(string body) => RawConnection.Frame(
            Opcode.Produce, Messages.Produce(Durability.Policy, (queue, Messages.Batch(body))).WrittenSpan);
    }

    [Fact]
    [EffectOf("Limits:MemoryBytes")]
    public async Task GivenReadersThatTakeNothing_WhenTheMemoryForAnswersIsSpent_ThenAnswersAreSmallUntilItIsBack()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(options with
        {
            Limits = options.Limits with { MemoryBytes = 16 << 20 },
            // One segment: what is sealed may be read from disk, in small answers.
            Store = options.Store with { SegmentSizeBytes = 64 << 20, TailMemoryBytes = 32 << 20 },
        });
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        for (int i = 0; i < 10; i++)
            await peer.ProduceAsync(queue, new string('x', 1 << 20));
        FetchRequest all = Messages.Open(0, Messages.From(queue, 0, 8 << 20)) with { MaxBytes = 8 << 20 };
        Assert.True((await peer.FetchAsync(all)).Bodies.Count() > 5);

        var stuck = new List<RawConnection>();
        byte[] frame = RawConnection.Frame(Opcode.Fetch, TestPeer.Encode(all).WrittenSpan);
        // So many that what the system's buffers take of each leaves more than half of the memory taken.
        for (int i = 0; i < 10; i++)
        {
            RawConnection raw = await RawConnection.ConnectAsync(broker.EndPoint);
            stuck.Add(raw);
            await raw.SayHelloAsync();
            await raw.SendAsync(frame);
        }

        await Eventually.TrueAsync(
            async () => (await peer.FetchAsync(all)).Bodies.Count() == 1, "An answer should hold a single entry.");
        foreach (RawConnection raw in stuck)
            raw.Dispose();
        await Eventually.TrueAsync(
            async () => (await peer.FetchAsync(all)).Bodies.Count() > 5, "Answers should be large again.");
    }

    [Fact]
    [EffectOf("Limits:MaxFetchWait")]
    public async Task GivenAWaitBeyondTheLimit_WhenNothingComes_ThenTheFetchIsAnsweredAtTheLimit()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { MaxFetchWait = TimeSpan.FromSeconds(1) } });
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        Assert.Empty((await peer.FetchAsync(Messages.Open(int.MaxValue, Messages.From(queue, 0)))).Queues);
    }
}
