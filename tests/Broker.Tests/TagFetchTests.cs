using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker.Tests;

/// <summary>Fetches with a tag mask: what it leaves out costs no bytes and no answers, and is told all the same.
/// </summary>
public sealed class TagFetchTests : IAsyncLifetime
{
    private const int Wait = 30_000;
    private static readonly uint Wanted = TagBits.Of("wanted"u8);
    private static readonly uint Other = TagBits.Of("other"u8);

    private readonly ManualTime _time = new();
    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private TestPeer _producer = null!;
    private QueueId[] _queues = [];

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync(TestBroker.SmallOptions(), _time);
        _peer = await _broker.ConnectAsync();
        _producer = await _broker.ConnectAsync("producer");
        _queues = [.. (await _peer.CreateTopicAsync("orders", 2)).Queues.Select(queue => queue.Id)];
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _producer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenAParkedFetch_WhenOnlyUnwantedBatchesCome_ThenItWaitsAndIsToldTheWayAtItsEnd()
    {
        Task<Fetched> fetch = _peer.FetchAsync(Messages.Open(Wait, From(_queues[0], Wanted), From(_queues[1], Wanted)));
        await _producer.UntilParkedAsync(1);
        for (int third = 0; third < 9; third++)
        {
            await ProduceAsync(_queues[0], Other, "no", "no");
            await _producer.UntilParkedAsync(1);
            Assert.False(fetch.IsCompleted);
            _time.Advance(TimeSpan.FromSeconds(3));
        }

        await _producer.UntilParkedAsync(1);
        _time.Advance(TimeSpan.FromSeconds(4));
        Fetched told = await fetch.WaitAsync(TimeSpan.FromSeconds(15), TestContext.Current.CancellationToken);
        FetchedQueue moved = Assert.Single(told.Queues);
        Assert.Equal((_queues[0], ErrorCode.None, 0), (moved.Header.Queue, moved.Header.Error, moved.Header.EntriesSize));
        Assert.Equal((18, 18), (moved.Header.Next.Value, moved.Header.VisibleEnd.Value));

        // The session continues where it was, without being told again.
        fetch = _peer.FetchAsync(told.Next(Wait));
        await _producer.UntilParkedAsync(1);
        await ProduceAsync(_queues[0], Other, "no");
        await _producer.UntilParkedAsync(1);
        await ProduceAsync(_queues[0], Wanted, "yes");
        Fetched given = await fetch;
        Assert.Equal(["yes"], given.Bodies);
        Assert.Equal(20, Assert.Single(given.Queues).Header.Next.Value);
        Assert.Empty((await _peer.FetchAsync(given.Next())).Queues);
    }

    [Fact]
    public async Task GivenSomethingWantedElsewhere_WhenItIsGiven_ThenTheWayInTheOthersIsToldWithIt()
    {
        Task<Fetched> fetch = _peer.FetchAsync(Messages.Open(Wait, From(_queues[0], Wanted), From(_queues[1], Wanted)));
        await _producer.UntilParkedAsync(1);
        await ProduceAsync(_queues[0], Other, "no");
        await _producer.UntilParkedAsync(1);
        await ProduceAsync(_queues[1], Wanted, "yes");
        Fetched given = await fetch;
        Assert.Equal(["yes"], given.Bodies);
        Assert.Equal(
            [(_queues[0], 1L), (_queues[1], 1L)],
            given.Queues.Select(queue => (queue.Header.Queue, queue.Header.Next.Value)).OrderBy(one => one.Queue.Value));
    }

    [Fact]
    public async Task GivenALongBacklogOfUnwanted_WhenAskedFor_ThenTurnsAreShortAndTheWantedComesWithoutFurtherAsking()
    {
        const int Batches = 70_000;
        await ProduceManyAsync(_queues[0], Batches);
        await ProduceAsync(_queues[0], Wanted, "yes");
        Fetched turn = await _peer.FetchAsync(Messages.Open(0, From(_queues[0], Wanted)));
        FetchedQueueHeader header = Assert.Single(turn.Queues).Header;
        Assert.Equal((ErrorCode.None, 0), (header.Error, header.EntriesSize));
        Assert.InRange(header.Next.Value, 1, Batches - 1);
        Assert.Equal(Batches + 1, header.VisibleEnd.Value);
        long answers = await _peer.FigureAsync("broker.fetchRequests");

        Fetched given = await _peer.FetchAsync(Messages.Open(Wait, From(_queues[0], Wanted)));
        Assert.Equal(["yes"], given.Bodies);
        Assert.Equal(Batches + 1, Assert.Single(given.Queues).Header.Next.Value);
        Assert.Equal(answers + 1, await _peer.FigureAsync("broker.fetchRequests"));
    }

    [Fact]
    public async Task GivenALongBacklogOfUnwantedInOneQueue_WhenAnotherHasSomething_ThenItNeedNotWaitForThat()
    {
        const int Batches = 70_000;
        await ProduceManyAsync(_queues[0], Batches);
        await ProduceAsync(_queues[1], Wanted, "yes");
        Fetched given = await _peer.FetchAsync(Messages.Open(Wait, From(_queues[0], Wanted), From(_queues[1], Wanted)));
        Assert.Equal(["yes"], given.Bodies);
        FetchedQueueHeader way = given.Queues.Single(queue => queue.Header.Queue == _queues[0]).Header;
        Assert.InRange(way.Next.Value, 1, Batches - 1);
    }

    [Fact]
    public async Task GivenAMillionMessagesPassedOver_WhenNothingIsFound_ThenTheReaderIsToldBeforeItsWaitIsOver()
    {
        byte[] batch = Messages.Tagged([.. Enumerable.Repeat(("other", ""), 20_000)]);
        for (int i = 0; i < PassedQueues.MaxUntoldMessages / 20_000; i++)
            await ProduceAsync((_queues[0], Other, batch));
        Fetched told = await _peer.FetchAsync(Messages.Open(Wait, From(_queues[0], Wanted)));
        FetchedQueueHeader header = Assert.Single(told.Queues).Header;
        Assert.Equal((PassedQueues.MaxUntoldMessages, 0), (header.Next.Value, header.EntriesSize));
        Task<Fetched> fetch = _peer.FetchAsync(told.Next(Wait));
        await _producer.UntilParkedAsync(1);
        Assert.False(fetch.IsCompleted);
    }

    [Fact]
    public async Task GivenABacklogThatLeftMemory_WhenFetched_ThenOnlyWhatIsWantedIsSent()
    {
        for (int i = 0; i < 60; i++)
        {
            bool isWanted = i % 12 == 5;
            await ProduceAsync(_queues[0], isWanted ? Wanted : Other, isWanted ? $"{i}" : new string('x', 1 << 20));
        }

        long sent = await _peer.FigureAsync("broker.fetchedBytes");
        var bodies = new List<string>();
        FetchRequest request = Messages.Open(Wait, From(_queues[0], Wanted));
        long next = 0;
        while (bodies.Count < 5)
        {
            Fetched fetched = await _peer.FetchAsync(request);
            bodies.AddRange(fetched.Bodies);
            next = fetched.Queues[^1].Header.Next.Value;
            request = fetched.Next(Wait);
        }

        Assert.Equal(["5", "17", "29", "41", "53"], bodies);
        Assert.InRange(next, 54, 60);
        Assert.InRange(await _peer.FigureAsync("broker.fetchedBytes") - sent, 5 * 100, 5 * 200);
        Assert.True(await _peer.FigureAsync("store.diskReads") > 0);
    }

    [Theory]
    [InlineData(0u)]
    [InlineData(uint.MaxValue)]
    public async Task GivenAMaskThatAsksForEverything_WhenFetched_ThenEveryBatchIsGiven(uint mask)
    {
        await ProduceAsync(_queues[0], Other, "other");
        await ProduceAsync(_queues[0], 0, "without");
        await ProduceAsync(_queues[0], TagBits.Unknown, "unknown");
        Fetched fetched = await _peer.FetchAsync(Messages.Open(Wait, From(_queues[0], mask)));
        Assert.Equal(["other", "without", "unknown"], fetched.Bodies);
    }

    [Fact]
    public async Task GivenTheWayIsNotToldYet_WhenTheTopicIsDeleted_ThenOnlyThatIsAnswered()
    {
        Task<Fetched> fetch = _peer.FetchAsync(Messages.Open(Wait, From(_queues[0], Wanted)));
        await _producer.UntilParkedAsync(1);
        await ProduceAsync(_queues[0], Other, "no");
        await _producer.UntilParkedAsync(1);
        await _producer.InvokeAsync(new DeleteTopicRequest("orders"));
        Assert.Equal(ErrorCode.UnknownQueue, Assert.Single((await fetch).Queues).Header.Error);
    }

    [Fact]
    public async Task GivenAnErrorBehindWhatWasPassedOver_WhenFetched_ThenTheWayIsToldBeforeIt()
    {
        const int Batches = 6_000;
        await ProduceManyAsync(_queues[0], Batches);
        await ProduceAsync(_queues[0], Wanted, new string('x', 200_000));
        await using TestPeer reader = await TestPeer.ConnectAsync(_broker.EndPoint, "small", 100_000);
        Fetched fetched = await reader.FetchAsync(Messages.Open(Wait, From(_queues[0], Wanted)));
        Assert.Equal([ErrorCode.None, ErrorCode.MessageTooLarge], fetched.Queues.Select(queue => queue.Header.Error));
        Assert.InRange(fetched.Queues[0].Header.Next.Value, 1, Batches);
        Assert.Equal(fetched.Queues[0].Header.Next, fetched.Queues[1].Header.Next);
    }

    [Fact]
    public async Task GivenAnotherMaskForAQueue_WhenItIsNamedAgain_ThenItGoesByThatFromTheOffsetNamed()
    {
        await ProduceAsync(_queues[0], Other, "other");
        await ProduceAsync(_queues[0], Wanted, "wanted");
        Fetched first = await _peer.FetchAsync(Messages.Open(Wait, From(_queues[0], Wanted)));
        Assert.Equal(["wanted"], first.Bodies);
        Fetched second = await _peer.FetchAsync(first.Next(Wait) with { Queues = [From(_queues[0], Other)] });
        Assert.Equal(["other"], second.Bodies);
        Assert.Equal(2, Assert.Single(second.Queues).Header.Next.Value);
    }

    private static FetchQueue From(QueueId queue, uint mask) => Messages.From(queue, 0) with { TagMask = mask };

    private Task ProduceAsync(QueueId queue, uint tagBits, params string[] bodies) =>
        ProduceAsync((queue, tagBits, Messages.Tagged(
            [.. bodies.Select(body => (tagBits == Wanted ? "wanted" : tagBits == Other ? "other" : null, body))])));

    private async Task ProduceManyAsync(QueueId queue, int count)
    {
        byte[] batch = Messages.Tagged(("other", "no"));
        for (int done = 0; done < count; done += 1_000)
            await ProduceAsync([.. Enumerable.Repeat((queue, Other, batch), Math.Min(1_000, count - done))]);
    }

    private async Task ProduceAsync(params (QueueId Queue, uint TagBits, byte[] Batch)[] batches)
    {
        FrameBuffer body = Messages.Produce(
            new ProduceRequestHeader(Durability.Policy, 0, 0, batches.Length), batches);
        ProduceResult[] results = Messages.ReadProduced(await _producer.SendAsync(Opcode.Produce, body));
        Assert.All(results, result => Assert.Equal(ErrorCode.None, result.Error));
    }
}
