using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests;

public sealed class FetchTests : IAsyncLifetime
{
    private const int Long = 60_000;

    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private TestPeer _producer = null!;
    private QueueId[] _queues = [];

    public async ValueTask InitializeAsync()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        _broker = await TestBroker.StartAsync(options with
        {
            Limits = options.Limits with { MaxParkedFetches = 3, MaxFetchSessionsPerConnection = 2 },
        });
        _peer = await _broker.ConnectAsync();
        _producer = await _broker.ConnectAsync("producer");
        _queues = [.. (await _peer.CreateTopicAsync("orders", 4)).Queues.Select(queue => queue.Id)];
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _producer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenASession_WhenAskedOn_ThenItGoesOnBehindWhatWasGiven()
    {
        await _producer.ProduceAsync(_queues[0], "a", "b");
        Fetched first = await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[0], 0)));
        Assert.Equal(["a", "b"], first.Bodies);
        Assert.Equal(new QueueOffset(2), first.Queues[0].Header.Next);
        Assert.Equal(new QueueOffset(2), first.Queues[0].Header.VisibleEnd);
        await _producer.ProduceAsync(_queues[0], "c");
        Fetched second = await _peer.FetchAsync(first.Next());
        Assert.Equal(["c"], second.Bodies);
        Assert.Empty((await _peer.FetchAsync(second.Next())).Queues);
    }

    [Fact]
    public async Task GivenAQueueThatMayGiveLessThanIsWaitedFor_WhenItHasMore_ThenTheAnswerComesAtOnce()
    {
        for (int i = 0; i < 10; i++)
            await _producer.ProduceAsync(_queues[0], new string('x', 1_000));
        FetchRequest request = Messages.Open(Long, Messages.From(_queues[0], 0, maxBytes: 2_500));
        Fetched fetched = await _peer.FetchAsync(request with { MinBytes = 100_000 });
        Assert.Equal(2, fetched.Bodies.Count());
    }

    [Fact]
    public async Task GivenAParkedFetch_WhenAWatchedQueueGetsAMessage_ThenItIsAnswered()
    {
        Task<Fetched> fetch = _peer.FetchAsync(
            Messages.Open(Long, [.. _queues.Select(queue => Messages.From(queue, 0))]));
        await _producer.UntilParkedAsync(1);
        await _producer.ProduceAsync(_queues[2], "a");
        Fetched fetched = await fetch;
        Assert.Equal(_queues[2], Assert.Single(fetched.Queues).Header.Queue);
        Assert.Equal(["a"], fetched.Bodies);
        Assert.Equal(0, await _producer.FigureAsync("broker.parkedFetches"));

        fetch = _peer.FetchAsync(fetched.Next(Long));
        await _producer.UntilParkedAsync(1);
        await _producer.ProduceAsync(_queues[0], "b");
        Assert.Equal(["b"], (await fetch).Bodies);
    }

    [Fact]
    public async Task GivenAParkedFetch_WhenItsWaitIsOver_ThenItIsAnsweredEmptyAndTheSessionGoesOn()
    {
        Fetched empty = await _peer.FetchAsync(Messages.Open(30, Messages.From(_queues[0], 0)));
        Assert.Empty(empty.Queues);
        await _producer.ProduceAsync(_queues[0], "a");
        Assert.Equal(["a"], (await _peer.FetchAsync(empty.Next(Long))).Bodies);
    }

    [Fact]
    public async Task GivenMinBytes_WhenLessIsThere_ThenTheFetchWaitsForMoreAndGivesAllOfIt()
    {
        await _producer.ProduceAsync(_queues[0], "a");
        Task<Fetched> fetch = _peer.FetchAsync(
            Messages.Open(Long, Messages.From(_queues[0], 0), Messages.From(_queues[1], 0)) with { MinBytes = 300 });
        await _producer.UntilParkedAsync(1);
        await _producer.ProduceAsync(_queues[1], new string('b', 50));
        await _producer.UntilParkedAsync(1);
        await _producer.ProduceAsync(_queues[0], new string('c', 200));
        Assert.Equal(["a", new string('c', 200), new string('b', 50)], (await fetch).Bodies);
    }

    [Fact]
    public async Task GivenMinBytesNeverReached_WhenTheWaitIsOver_ThenWhatIsThereIsGiven()
    {
        await _producer.ProduceAsync(_queues[0], "a");
        Fetched fetched = await _peer.FetchAsync(
            Messages.Open(40, Messages.From(_queues[0], 0)) with { MinBytes = 100_000 });
        Assert.Equal(["a"], fetched.Bodies);
        Assert.Empty((await _peer.FetchAsync(fetched.Next())).Queues);
    }

    [Fact]
    public async Task GivenOneBusyQueueAndOthers_WhenAnswersAreSmall_ThenEveryQueueGetsItsTurn()
    {
        foreach (QueueId queue in _queues)
        {
            for (int i = 0; i < 5; i++)
                await _producer.ProduceAsync(queue, new string('x', 400));
        }

        FetchRequest request = Messages.Open(0, [.. _queues.Select(queue => Messages.From(queue, 0))]);
        request = request with { MaxBytes = 500 };
        var turns = new List<QueueId>();
        for (int i = 0; i < 8; i++)
        {
            Fetched fetched = await _peer.FetchAsync(request);
            turns.AddRange(fetched.Queues.Select(queue => queue.Header.Queue));
            request = fetched.Next() with { MaxBytes = 500 };
        }

        Assert.All(_queues, queue => Assert.InRange(turns.Count(turn => turn == queue), 2, turns.Count / 2));
    }

    [Fact]
    public async Task GivenAQueueLimit_WhenFetched_ThenItsShareIsBounded()
    {
        for (int i = 0; i < 10; i++)
            await _producer.ProduceAsync(_queues[0], new string('x', 400));
        Fetched fetched = await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[0], 3, maxBytes: 1_200)));
        Assert.InRange(fetched.Queues[0].Messages.Count, 1, 3);
        Assert.Equal(3, fetched.Queues[0].Messages[0].Offset);
    }

    [Fact]
    public async Task GivenAQueueThatLeaves_WhenItGetsMessages_ThenTheSessionDoesNotSeeThem()
    {
        Fetched first = await _peer.FetchAsync(
            Messages.Open(0, Messages.From(_queues[0], 0), Messages.From(_queues[1], 0)));
        await _producer.ProduceAsync(_queues[0], "a");
        await _producer.ProduceAsync(_queues[1], "b");
        Fetched second = await _peer.FetchAsync(first.Next() with { Removed = [new QueueKey(0, _queues[0])] });
        Assert.Equal(["b"], second.Bodies);
        Fetched third = await _peer.FetchAsync(second.Next() with { Queues = [Messages.From(_queues[1], 0)] });
        Assert.Equal(["b"], third.Bodies);
    }

    [Fact]
    public async Task GivenAWrongSequenceOrSession_WhenFetched_ThenUnknownFetchSessionIsAnsweredAndTheSessionIsOver()
    {
        Fetched first = await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[0], 0)));
        Assert.Equal(ErrorCode.UnknownFetchSession, await _peer.FetchRefusalAsync(first.Next() with { Sequence = 5 }));
        Assert.Equal(ErrorCode.UnknownFetchSession, await _peer.FetchRefusalAsync(first.Next()));
        Assert.Equal(ErrorCode.UnknownFetchSession, await _peer.FetchRefusalAsync(new FetchRequest { SessionId = 99 }));
        Assert.Equal(ErrorCode.UnknownFetchSession, await _peer.FetchRefusalAsync(new FetchRequest { Sequence = 1 }));
        Assert.Equal(
            ErrorCode.InvalidArgument, await _peer.FetchRefusalAsync(
                new FetchRequest { Isolation = (FetchIsolation)7 }));
        Assert.Equal(0, await _peer.FigureAsync("broker.fetchSessions"));
    }

    [Fact]
    public async Task GivenARequestUnderWay_WhenASecondComesOnTheSession_ThenBothGetUnknownFetchSession()
    {
        Fetched first = await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[0], 0)));
        Task<ErrorCode> parked = _peer.FetchRefusalAsync(first.Next(Long));
        await _producer.UntilParkedAsync(1);
        Assert.Equal(
            ErrorCode.UnknownFetchSession, await _peer.FetchRefusalAsync(first.Next(Long) with { Sequence = 2 }));
        Assert.Equal(ErrorCode.UnknownFetchSession, await parked);
        Assert.Equal(0, await _peer.FigureAsync("broker.parkedFetches"));
        Assert.Equal(0, await _peer.FigureAsync("broker.fetchSessions"));
    }

    [Fact]
    public async Task GivenAParkedFetch_WhenItsTopicIsDeleted_ThenUnknownQueueIsAnswered()
    {
        Task<Fetched> fetch = _peer.FetchAsync(
            Messages.Open(Long, [.. _queues.Select(queue => Messages.From(queue, 0))]));
        await _producer.UntilParkedAsync(1);
        await _producer.InvokeAsync(new DeleteTopicRequest("orders"));
        Assert.All((await fetch).Queues, queue => Assert.Equal(ErrorCode.UnknownQueue, queue.Header.Error));
    }

    [Fact]
    [EffectOf("Limits:MaxParkedFetches")]
    public async Task GivenTheLimitOfParkedFetches_WhenOneMoreWouldWait_ThenLimitReachedIsAnswered()
    {
        TestPeer[] peers = await Task.WhenAll(Enumerable.Range(0, 4).Select(i => _broker.ConnectAsync($"reader{i}")));
        Task<Fetched>[] parked =
            [.. peers.Take(3).Select(peer => peer.FetchAsync(Messages.Open(Long, Messages.From(_queues[0], 0))))];
        await _producer.UntilParkedAsync(3);
        Assert.Equal(ErrorCode.LimitReached, await peers[3].FetchRefusalAsync(
            Messages.Open(Long, Messages.From(_queues[0], 0))));
        await _producer.ProduceAsync(_queues[0], "a");
        foreach (Fetched fetched in await Task.WhenAll(parked))
            Assert.Equal(["a"], fetched.Bodies);
        foreach (TestPeer peer in peers)
            await peer.DisposeAsync();
    }

    [Fact]
    public async Task GivenFetchesThatFailed_WhenMoreOfThemThanSessionsMayBe_ThenTheConnectionMayFetchAgain()
    {
        TestPeer[] peers = await Task.WhenAll(Enumerable.Range(0, 3).Select(i => _broker.ConnectAsync($"reader{i}")));
        FetchRequest waiting = Messages.Open(Long, Messages.From(_queues[0], 0));
        Task<Fetched>[] parked = [.. peers.Select(peer => peer.FetchAsync(waiting))];
        await _producer.UntilParkedAsync(3);
        for (int i = 0; i < 5; i++)
            Assert.Equal(ErrorCode.LimitReached, await _peer.FetchRefusalAsync(waiting));
        await _producer.ProduceAsync(_queues[0], "a");
        await Task.WhenAll(parked);
        Assert.Equal(["a"], (await _peer.FetchAsync(waiting)).Bodies);
        foreach (TestPeer peer in peers)
            await peer.DisposeAsync();
        await Eventually.TrueAsync(async () => await _producer.FigureAsync("broker.fetchSessions") == 1);
    }

    [Fact]
    public async Task GivenAListOfManyMoreQueuesThanThereAre_WhenASessionBegins_ThenLimitReachedIsAnswered()
    {
        FetchQueue[] queues =
            [.. Enumerable.Range(0, 1_100).Select(i => Messages.From(new QueueId((uint)(5_000 + i)), 0))];
        Assert.Equal(ErrorCode.LimitReached, await _peer.FetchRefusalAsync(Messages.Open(0, queues)));
        Fetched fetched = await _peer.FetchAsync(Messages.Open(0, queues[..900]));
        Assert.All(fetched.Queues, queue => Assert.Equal(ErrorCode.UnknownQueue, queue.Header.Error));
    }

    [Fact]
    public async Task GivenMoreQueuesThanASessionMaySpare_WhenAllAreSought_ThenTheyCountOnce()
    {
        TopicDescription topic = await _producer.CreateTopicAsync("many", 1_200);
        FetchQueue[] all = [.. topic.Queues.Select(queue => Messages.From(queue.Id, 0))];
        Fetched opened = await _peer.FetchAsync(Messages.Open(0, all));
        Fetched again = await _peer.FetchAsync(opened.Next() with { Queues = all });
        Assert.All(again.Queues, queue => Assert.Equal(ErrorCode.None, queue.Header.Error));
    }

    [Fact]
    [EffectOf("Limits:MaxFetchSessionsPerConnection")]
    public async Task GivenTheLimitOfSessions_WhenOneMoreBegins_ThenTheOneThatRestedLongestEnds()
    {
        Fetched first = await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[0], 0)));
        Fetched second = await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[1], 0)));
        Fetched third = await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[2], 0)));
        Assert.Equal(ErrorCode.UnknownFetchSession, await _peer.FetchRefusalAsync(first.Next()));
        Task<Fetched>[] parked = [_peer.FetchAsync(second.Next(Long)), _peer.FetchAsync(third.Next(Long))];
        await _producer.UntilParkedAsync(2);
        Assert.Equal(
            ErrorCode.LimitReached, await _peer.FetchRefusalAsync(Messages.Open(0, Messages.From(_queues[0], 0))));
        await _producer.ProduceAsync(_queues[1], "a");
        await _producer.ProduceAsync(_queues[2], "b");
        Assert.Equal(["a", "b"], (await Task.WhenAll(parked)).SelectMany(fetched => fetched.Bodies));
    }

    [Fact]
    public async Task GivenAReaderThatIsGone_WhenItsConnectionEnds_ThenItsSessionsAndParkedFetchesAreToo()
    {
        TestPeer reader = await _broker.ConnectAsync("reader");
        Task<ErrorCode> fetch = reader.FetchRefusalAsync(Messages.Open(Long, Messages.From(_queues[0], 0)));
        await _producer.UntilParkedAsync(1);
        await reader.DisposeAsync();
        await Assert.ThrowsAsync<RemotingException>(() => fetch);
        await _producer.UntilParkedAsync(0);
        await Eventually.TrueAsync(
            async () => await _producer.FigureAsync("broker.fetchSessions") == 0, "its sessions end behind its fetches");
        Assert.Equal(ErrorCode.None, (await _producer.ProduceAsync(_queues[0], "a")).Error);
    }

    [Fact]
    public async Task GivenMessagesThatLeftMemory_WhenFetched_ThenTheyComeFromDiskByteForByte()
    {
        for (int i = 0; i < 60; i++)
            await _producer.ProduceAsync(_queues[i % 4], $"m{i}-" + new string((char)('a' + (i % 26)), 1 << 20));
        var bodies = new List<string>();
        FetchRequest request = Messages.Open(0, [.. _queues.Select(queue => Messages.From(queue, 0))]);
        while (bodies.Count < 60)
        {
            Fetched fetched = await _peer.FetchAsync(request);
            Assert.NotEmpty(fetched.Queues);
            bodies.AddRange(fetched.Bodies);
            request = fetched.Next();
        }

        Assert.Equal(
            Enumerable.Range(0, 60).Select(
                i => $"m{i}-" + new string((char)('a' + (i % 26)), 1 << 20)).Order(), bodies.Order());
        Assert.True(await _peer.FigureAsync("store.diskReads") > 0);
    }

    [Fact]
    public async Task GivenMuchThatLeftMemory_WhenMoreIsAskedForThanOneAnswerCarries_ThenSmallAnswersComeAtOnce()
    {
        for (int i = 0; i < 40; i++)
            await _producer.ProduceAsync(_queues[i % 2], $"{i}", "-", new string('x', 1_000_000));
        FetchRequest request = Messages.Open(Long, Messages.From(_queues[0], 0), Messages.From(_queues[1], 0));
        Fetched first = await _peer.FetchAsync(request with { MinBytes = 4 << 20 });
        Assert.Equal(3, first.Bodies.Count());
        Assert.Equal("0", first.Bodies.First());
        Assert.Equal("1", (await _peer.FetchAsync(first.Next(Long) with { MinBytes = 4 << 20 })).Bodies.First());
    }

    [Fact]
    public async Task GivenAReaderWithSmallFrames_WhenAnEntryIsLonger_ThenItSaysSoAndOthersAreGiven()
    {
        await _producer.ProduceAsync(_queues[0], new string('x', 200_000));
        await _producer.ProduceAsync(_queues[1], "small");
        await using TestPeer reader = await TestPeer.ConnectAsync(_broker.EndPoint, "small", 100_000);
        Fetched fetched = await reader.FetchAsync(
            Messages.Open(0, Messages.From(_queues[0], 0), Messages.From(_queues[1], 0)));
        Assert.Equal([ErrorCode.MessageTooLarge, ErrorCode.None], fetched.Queues.Select(queue => queue.Header.Error));
        Assert.Equal(["small"], fetched.Bodies);
    }

    [Fact]
    public async Task GivenMoreThanAFrameHolds_WhenFetched_ThenTheAnswersFillTheFramesAndNothingIsLeftOut()
    {
        string[] bodies = [.. Enumerable.Range(0, 40).Select(i => $"m{i}-" + new string('x', 10_000))];
        foreach (string body in bodies)
            await _producer.ProduceAsync(_queues[0], body);
        await using TestPeer reader = await TestPeer.ConnectAsync(_broker.EndPoint, "small", 100_000);
        var read = new List<string>();
        FetchRequest request = Messages.Open(0, Messages.From(_queues[0], 0));
        while (read.Count < bodies.Length)
        {
            Fetched fetched = await reader.FetchAsync(request);
            Assert.Equal(ErrorCode.None, Assert.Single(fetched.Queues).Header.Error);
            read.AddRange(fetched.Bodies);
            request = fetched.Next();
        }

        Assert.Equal(bodies, read);
    }

    [Fact]
    public async Task GivenAnEpochThatTheLogNeverHad_WhenFetched_ThenDivergingEpochIsAnswered()
    {
        FetchQueue queue = Messages.From(_queues[0], 0) with { LastEpoch = 1_000 };
        FetchedQueueHeader header = Assert.Single((await _peer.FetchAsync(Messages.Open(0, queue))).Queues).Header;
        Assert.Equal((ErrorCode.DivergingEpoch, (int)_peer.Hello.Incarnation), (header.Error, header.DivergingEpoch));
    }

    [Fact]
    public async Task GivenQueuesAndTimes_WhenOffsetsAreAskedFor_ThenBeginEndAndTimeAreTold()
    {
        ProduceResult first = await _producer.ProduceAsync(_queues[0], "a", "b");
        ProduceResult second = await _producer.ProduceAsync(_queues[0], "c");
        var key = new QueueKey(0, _queues[0]);
        FindOffsetsResponse found = await _peer.InvokeAsync(new FindOffsetsRequest(
        [
            new OffsetQuestion(key, OffsetQuestion.Begin),
            new OffsetQuestion(key, OffsetQuestion.End),
            new OffsetQuestion(key, 0),
            new OffsetQuestion(key, second.StoredTimeMs + 60_000),
            new OffsetQuestion(new QueueKey(0, new QueueId(9_999)), OffsetQuestion.End),
            new OffsetQuestion(new QueueKey(3, _queues[0]), OffsetQuestion.End),
        ]));
        Assert.Equal([0L, 3, 0, 3, -1, -1], found.Answers.Select(answer => answer.Offset.Value));
        Assert.Equal(
            [.. Enumerable.Repeat(ErrorCode.None, 4), ErrorCode.UnknownQueue, ErrorCode.UnknownQueue],
            found.Answers.Select(answer => answer.Error));
        Assert.True(first.StoredTimeMs <= second.StoredTimeMs);
        Assert.Equal(
            ErrorCode.InvalidArgument,
            (await _peer.RefusalAsync(new FindOffsetsRequest([new OffsetQuestion(key, -3)]))).Code);
    }
}
