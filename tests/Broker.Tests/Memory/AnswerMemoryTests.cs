using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Memory;

/// <summary>Answers take memory while they are written and until they are taken: a frame each, and a bound for all.
/// </summary>
public sealed class AnswerMemoryTests
{
    private const long Bound = 16 << 20;

    [Fact]
    public async Task GivenATopicOfManyQueues_WhenOneRouteNamesItAThousandTimes_ThenItIsRefusedForTheRepetition()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer peer = await broker.ConnectAsync();
        await peer.CreateTopicAsync("orders", 1_000);
        EQueueException refusal = await peer.RefusalAsync(
            new RouteRequest([.. Enumerable.Repeat("orders", 1_000)], AutoCreate: false));
        Assert.Equal(ErrorCode.InvalidArgument, refusal.Code);
        Assert.Contains("'orders' is named twice", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAnAnswerLongerThanAFrame_WhenItIsWritten_ThenWritingEndsThere()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer peer = await broker.ConnectAsync();
        await using TestPeer small = await TestPeer.ConnectAsync(broker.EndPoint, "small", maxFrameBytes: 64 << 10);
        QueueId[] queues = [.. (await peer.CreateTopicAsync("orders", 1_000)).Queues.Select(queue => queue.Id)];
        string text = new('x', 200);
        await peer.InvokeAsync(new CommitOffsetsRequest(
            "billing",
            Guid.Empty,
            [.. queues.Select(queue => new OffsetCommit(
                new QueueKey(0, queue), GroupGeneration.None, new QueueOffset(0), -1, text))]));

        EQueueException refusal = await small.RefusalAsync(new ReadOffsetsRequest("billing", null));
        Assert.Equal(ErrorCode.LimitReached, refusal.Code);
        Assert.Contains("longer than a frame of 65536", refusal.Message, StringComparison.Ordinal);
        Assert.Equal(0, await peer.FigureAsync("memory.usedBytes{send}"));
        Assert.Equal(1_000, (await peer.InvokeAsync(new ReadOffsetsRequest("billing", null))).Offsets.Count);
    }

    [Fact]
    public async Task GivenManyWhoTakeNoAnswers_WhenTheMemoryForAllIsSpent_ThenOthersAreRefusedUntilTheyAreCut()
    {
        const int Peers = 6;
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { MemoryBytes = Bound } });
        await using TestPeer peer = await broker.ConnectAsync();
        await peer.CreateTopicAsync("orders", 10_000);
        byte[] request = RawConnection.Frame(
            Opcode.DescribeTopic, TestPeer.Encode(new DescribeTopicRequest("orders")).WrittenSpan);
        byte[] many = [.. Enumerable.Repeat(request, 100).SelectMany(one => one)];
        var stuck = new List<RawConnection>();
        long most = 0;
        try
        {
            // Answers of 440 KB, 100 for each: 260 MB for what is sent in 20 KB.
            for (int i = 0; i < Peers; i++)
            {
                RawConnection raw = await RawConnection.ConnectAsync(broker.EndPoint);
                stuck.Add(raw);
                await raw.SayHelloAsync();
                await raw.SendAsync(many);
                most = Math.Max(most, await peer.FigureAsync("memory.usedBytes{send}"));
            }

            // A client that asks for as much is refused until those that take nothing are cut, which is soon then.
            EQueueException? refusal = null;
            await Eventually.TrueAsync(async () =>
            {
                most = Math.Max(most, await peer.FigureAsync("memory.usedBytes{send}"));
                Exception? failure =
                    await Record.ExceptionAsync(() => peer.InvokeAsync(new DescribeTopicRequest("orders")));
                refusal = failure as EQueueException ?? refusal;
                return failure is null && refusal is not null && await peer.FigureAsync("broker.connections") <= Peers;
            });
            Assert.Equal(ErrorCode.LimitReached, refusal!.Code);
            Assert.Contains("(Limits:MemoryBytes)", refusal.Message, StringComparison.Ordinal);
            Assert.InRange(most, Bound / 2, Bound + (4 << 20));
        }
        finally
        {
            foreach (RawConnection raw in stuck)
                raw.Dispose();
        }
    }

    [Fact]
    public async Task GivenManyWhoTakeNoMessages_WhenLargeOnesAreFetched_ThenTheirMemoryIsBoundedAndOthersReadOn()
    {
        const int Peers = 30;
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(options with
        {
            Limits = options.Limits with { MemoryBytes = Bound },
            Store = options.Store with { SegmentSizeBytes = 64 << 20, TailMemoryBytes = 32 << 20 },
        });
        await using TestPeer peer = await broker.ConnectAsync();
        TopicDescription topic = await peer.CreateTopicAsync("orders", 2);
        QueueId large = topic.Queues[0].Id;
        QueueId small = topic.Queues[1].Id;
        for (int i = 0; i < 4; i++)
            await peer.ProduceAsync(large, new string('x', 4_000_000));
        await peer.ProduceAsync(small, "a");
        byte[] fetch = RawConnection.Frame(
            Opcode.Fetch, TestPeer.Encode(Messages.Open(0, Messages.From(large, 0))).WrittenSpan);
        var stuck = new List<RawConnection>();
        long most = 0;
        try
        {
            // A message of 4 MB waits where there is no room for all of it; 16 sessions for each connection.
            for (int i = 0; i < Peers; i++)
            {
                RawConnection raw = await RawConnection.ConnectAsync(broker.EndPoint);
                stuck.Add(raw);
                await raw.SayHelloAsync();
                await raw.SendAsync([.. Enumerable.Repeat(fetch, 16).SelectMany(one => one)]);
                Assert.Equal(["a"], (await peer.FetchAsync(Messages.Open(0, Messages.From(small, 0)))).Bodies);
                most = Math.Max(most, await peer.FigureAsync("memory.usedBytes{send}"));
            }

            Assert.InRange(most, Bound / 2, Bound + (1 << 20));

            // Those that end while they wait are over, though there is still no memory for what they asked for.
            foreach (RawConnection raw in stuck.Skip(Peers / 3))
                raw.Dispose();
            await Eventually.TrueAsync(
                async () => await peer.FigureAsync("broker.fetchSessions") <= 16 * ((Peers / 3) + 1));
            Assert.Equal(["a"], (await peer.FetchAsync(Messages.Open(0, Messages.From(small, 0)))).Bodies);
        }
        finally
        {
            foreach (RawConnection raw in stuck)
                raw.Dispose();
        }

        await Eventually.TrueAsync(async () => await peer.FigureAsync("memory.usedBytes{send}") == 0);
        Assert.Single((await peer.FetchAsync(Messages.Open(0, Messages.From(large, 0)))).Bodies);
    }

    [Fact]
    public async Task GivenAMessageLargerThanAllMemoryForAnswers_WhenFetched_ThenItIsGivenAllTheSame()
    {
        const int Large = 20 << 20;
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(options with
        {
            Limits = options.Limits with { MemoryBytes = 16 << 20, MaxMessageBytes = Large, MaxFetchBytes = 32 << 20 },
            Store = options.Store with
            {
                SegmentSizeBytes = 64 << 20,
                TailMemoryBytes = 128 << 20,
                MaxBatchBytes = Large + (1 << 20),
            },
        });
        await using TestPeer peer = await TestPeer.ConnectAsync(broker.EndPoint, maxFrameBytes: 64 << 20);
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        await peer.ProduceAsync(queue, new string('x', Large - 1000));
        FetchRequest fetch = Messages.Open(0, Messages.From(queue, 0, 32 << 20)) with { MaxBytes = 32 << 20 };
        for (int i = 0; i < 2; i++)
            Assert.Single((await peer.FetchAsync(fetch).WaitAsync(TimeSpan.FromSeconds(30))).Bodies);
    }

    [Fact]
    public async Task GivenALongReset_WhenItWantsMoreMemoryThanIsLeftBesideItself_ThenItIsRefusedAndNothingHangs()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { RequestBytes = 4 << 20 } });
        await using TestPeer peer = await broker.ConnectAsync();
        await peer.CreateTopicAsync("orders");
        var reset = new ResetOffsetsRequest
        {
            Group = "billing",
            Topic = "orders",
            Numbers = [.. Enumerable.Range(0, 60_000)],
        };
        EQueueException refusal = await peer.RefusalAsync(reset).WaitAsync(TimeSpan.FromSeconds(30));
        Assert.Equal(ErrorCode.LimitReached, refusal.Code);
        Assert.Contains("(Limits:RequestBytes)", refusal.Message, StringComparison.Ordinal);
        await Eventually.TrueAsync(async () => await peer.FigureAsync("memory.usedBytes{requests}") == 0);
    }

    [Fact]
    [EffectOf("Limits:RequestBytes")]
    public async Task GivenLongRequestsThatWait_WhenTheyTakeWhatThereIs_ThenTheNextIsHandledAfterThem()
    {
        const int Sent = 8;
        var disk = new FaultyDisk();
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(options with
        {
            Store = options.Store with { Disk = disk },
            Limits = options.Limits with { RequestBytes = 4 << 20 },
        });
        await using TestPeer peer = await broker.ConnectAsync();
        var peers = new List<TestPeer>();
        for (int i = 0; i < Sent; i++)
            peers.Add(await broker.ConnectAsync());
        disk.HoldWrites();
        var asked = new List<Task<RouteResponse>>();
        try
        {
            // Each makes a topic, and waits for the disk with it; it names others that cannot be made.
            for (int i = 0; i < Sent; i++)
            {
                string[] names = [$"topic{i}", .. Enumerable.Range(0, 999).Select(j => j.ToString("D200") + "/")];
                asked.Add(peers[i].InvokeAsync(new RouteRequest(names, AutoCreate: true)));
            }

            await Eventually.TrueAsync(async () => await peer.FigureAsync("memory.refusals{requests}") >= Sent - 2);
            Assert.InRange(await peer.FigureAsync("memory.usedBytes{requests}"), 1 << 20, 4 << 20);
            Assert.DoesNotContain(asked, task => task.IsCompleted);
        }
        finally
        {
            disk.ReleaseWrites();
        }

        Assert.All(await Task.WhenAll(asked), answer => Assert.Equal(ErrorCode.None, answer.Topics[0].Error));
        Assert.Equal(0, await peer.FigureAsync("memory.usedBytes{requests}"));
        foreach (TestPeer one in peers)
            await one.DisposeAsync();
    }
}
