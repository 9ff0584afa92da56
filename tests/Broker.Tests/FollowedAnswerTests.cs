using System.Diagnostics;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>A fetch that takes several answers gets one after the other, while they are little.</summary>
public sealed class FollowedAnswerTests : IAsyncLifetime
{
    private const int Long = 60_000;

    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private TestPeer _producer = null!;
    private QueueId _queue;

    public async ValueTask InitializeAsync()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        _broker = await TestBroker.StartAsync(options with
        {
            Limits = options.Limits with { MaxFetchBytes = 64 << 20 },
        });
        _peer = await _broker.ConnectAsync();
        _producer = await _broker.ConnectAsync("producer");
        _queue = (await _peer.CreateTopicAsync("orders")).Queues[0].Id;
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _producer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenAReaderThatTakesSeveralAnswers_WhenMessagesComeOneByOne_ThenItAsksOnce()
    {
        const int Count = 50;
        AnswerReader reader = Follow();
        uint session = 0;
        for (int i = 0; i < Count; i++)
        {
            await _producer.ProduceAsync(_queue, $"{i}");
            (Fetched answer, bool isFollowed) = await reader.NextAsync();
            Assert.True(isFollowed);
            Assert.Equal([$"{i}"], answer.Bodies);
            Assert.Equal((uint)i, answer.Sequence);
            Assert.Equal(i + 1, Assert.Single(answer.Queues).Header.Next.Value);
            Assert.True(session == 0 || session == answer.Session);
            session = answer.Session;
        }

        Assert.Equal(1, await _producer.FigureAsync("broker.fetchRequests"));
        await _producer.UntilParkedAsync(1);
    }

    [Fact]
    public async Task GivenAReaderThatTakesOneAnswer_WhenMessagesCome_ThenItHasToAskForEach()
    {
        await _producer.ProduceAsync(_queue, "a");
        using ResponseFrame answer = await _peer.SendAsync(
            Opcode.Fetch, TestPeer.Encode(Messages.Open(Long, Messages.From(_queue, 0))));
        Assert.Equal(FrameFlags.Response, answer.Header.Flags);
        Assert.Equal(0, await _producer.FigureAsync("broker.parkedFetches"));
    }

    [Fact]
    public async Task GivenAnAnswerThatWasFollowed_WhenTheWaitIsOver_ThenAnEmptyOneEndsItAndTheSessionGoesOn()
    {
        AnswerReader reader = Follow(Messages.Open(1_500, Messages.From(_queue, 0)));
        await _producer.ProduceAsync(_queue, "a");
        (Fetched first, bool isFollowed) = await reader.NextAsync();
        Assert.True(isFollowed);
        (Fetched last, isFollowed) = await reader.NextAsync();
        Assert.False(isFollowed);
        Assert.Empty(last.Queues);
        Assert.Equal((first.Session, first.Sequence + 1), (last.Session, last.Sequence));
        await _producer.ProduceAsync(_queue, "b");
        Assert.Equal(["b"], (await _peer.FetchAsync(last.Next())).Bodies);
    }

    [Fact]
    public async Task GivenMessagesWithoutAPause_WhenTheWaitIsOver_ThenTheNextAnswerIsTheLast()
    {
        const int WaitMs = 300;
        bool isOver = false;
        long began = Stopwatch.GetTimestamp();
        AnswerReader reader = Follow(Messages.Open(WaitMs, Messages.From(_queue, 0)));
        var producing = Task.Run(async () =>
        {
            while (!Volatile.Read(ref isOver))
                await _producer.ProduceAsync(_queue, "a");
        });
        int count = 0;
        bool isFollowed = true;
        TimeSpan took = default;
        while (isFollowed)
        {
            (_, isFollowed) = await reader.NextAsync();
            took = Stopwatch.GetElapsedTime(began);
            count++;
        }

        Volatile.Write(ref isOver, true);
        await producing;
        Assert.InRange(took.TotalMilliseconds, WaitMs - 20, WaitMs + 5_000);
        Assert.InRange(count, 2, 100_000);
    }

    [Fact]
    public async Task GivenAReaderThatDoesNotTakeItsAnswers_WhenMoreCome_ThenTheBrokerStopsGoingOn()
    {
        using RawConnection raw = await RawConnection.ConnectAsync(_broker.EndPoint);
        await raw.SayHelloAsync();
        FrameBuffer request =
            TestPeer.Encode(Messages.Open(Long, Messages.From(_queue, 0)) with { MaxBytes = int.MaxValue });
        await raw.SendAsync(RawConnection.Frame(Opcode.Fetch, request.WrittenSpan, (ushort)FrameFlags.More));
        string body = new('x', 30_000);
        for (int i = 0; i < 2_000; i++)
            await _producer.ProduceAsync(_queue, body);
        long given = await _producer.FigureAsync("broker.fetchedBytes");
        Assert.InRange(given, body.Length, 16_000_000);
        Assert.Equal(0, await _producer.FigureAsync("broker.parkedFetches"));
    }

    [Fact]
    public async Task GivenTheBytesOfARequest_WhenItsAnswersHaveUsedThemUp_ThenTheLastSaysSo()
    {
        const int Bytes = 80_000;
        string body = new('x', 9_000);
        AnswerReader reader = Follow(Messages.Open(Long, Messages.From(_queue, 0)) with { MaxBytes = Bytes });
        int given = 0;
        bool isFollowed = true;
        for (; isFollowed; given++)
        {
            Assert.InRange(given, 0, 10);
            await _producer.ProduceAsync(_queue, body);
            (Fetched answer, isFollowed) = await reader.NextAsync();
            Assert.Equal([body], answer.Bodies);
        }

        // Of the last 32 KiB none is given away in bits.
        Assert.Equal(6, given);
        Assert.Equal(0, await _producer.FigureAsync("broker.parkedFetches"));
    }

    [Fact]
    public async Task GivenALargeAnswer_WhenItLeaves_ThenItIsTheLast()
    {
        AnswerReader reader = Follow();
        await _producer.ProduceAsync(_queue, new string('x', 40_000));
        Assert.False((await reader.NextAsync()).IsFollowed);
    }

    [Fact]
    public async Task GivenAFetchThatMayNotWait_WhenItIsAnswered_ThenThatIsTheOnlyAnswer()
    {
        await _producer.ProduceAsync(_queue, "a");
        Assert.False((await Follow(Messages.Open(0, Messages.From(_queue, 0))).NextAsync()).IsFollowed);
    }

    [Fact]
    public async Task GivenARequestThatIsStillAnswered_WhenASecondComesOnTheSession_ThenBothGetUnknownFetchSession()
    {
        AnswerReader reader = Follow();
        await _producer.ProduceAsync(_queue, "a");
        (Fetched answer, _) = await reader.NextAsync();
        await _producer.UntilParkedAsync(1);
        Assert.Equal(ErrorCode.UnknownFetchSession, await _peer.FetchRefusalAsync(answer.Next(Long)));
        EQueueException refusal = await Assert.ThrowsAsync<EQueueException>(reader.NextAsync);
        Assert.Equal(ErrorCode.UnknownFetchSession, refusal.Code);
        Assert.Equal(0, await _producer.FigureAsync("broker.fetchSessions"));
    }

    [Fact]
    public async Task GivenARequestThatIsStillAnswered_WhenItsTopicIsDeleted_ThenTheErrorIsTheLastAnswer()
    {
        AnswerReader reader = Follow();
        await _producer.ProduceAsync(_queue, "a");
        await reader.NextAsync();
        await _producer.InvokeAsync(new DeleteTopicRequest("orders"));
        (Fetched answer, bool isFollowed) = await reader.NextAsync();
        Assert.False(isFollowed);
        Assert.Equal(ErrorCode.UnknownQueue, Assert.Single(answer.Queues).Header.Error);
    }

    [Fact]
    public async Task GivenAQuota_WhenAReaderTakesSeveralAnswers_ThenItAsksForEachAndIsChargedForIt()
    {
        await _producer.InvokeAsync(new SetQuotaRequest(new Quota(QuotaKind.Client, "other", 0, 1_000_000, 0)));
        AnswerReader reader = Follow();
        await _producer.ProduceAsync(_queue, "a");
        Assert.False((await reader.NextAsync()).IsFollowed);
    }

    [Fact]
    public async Task GivenARequestThatIsStillAnswered_WhenItsConnectionEnds_ThenNothingOfItIsLeft()
    {
        AnswerReader reader = Follow();
        await _producer.ProduceAsync(_queue, "a");
        await reader.NextAsync();
        await _peer.DisposeAsync();
        await _producer.UntilParkedAsync(0);
        await Eventually.TrueAsync(async () => await _producer.FigureAsync("broker.fetchSessions") == 0);
        await _producer.ProduceAsync(_queue, "b");
    }

    [Fact]
    public async Task GivenManyProducers_WhenOneReaderTakesSeveralAnswers_ThenEveryMessageComesOnceAndInOrder()
    {
        const int Count = 2_000;
        var producing = Task.Run(async () =>
        {
            for (int i = 0; i < Count; i++)
                await _producer.ProduceAsync(_queue, $"{i}");
        });
        List<string> read = [];
        FetchRequest request = Messages.Open(Long, Messages.From(_queue, 0)) with { MaxBytes = 40_000 };
        while (read.Count < Count)
        {
            AnswerReader reader = Follow(request);
            Fetched answer;
            bool isFollowed;
            do
            {
                (answer, isFollowed) = await reader.NextAsync();
                read.AddRange(answer.Bodies);
            }
            while (isFollowed && read.Count < Count);
            request = answer.Next(Long) with { MaxBytes = 40_000 };
        }

        await producing;
        Assert.Equal(Enumerable.Range(0, Count).Select(i => $"{i}"), read);
        Assert.InRange(await _producer.FigureAsync("broker.fetchRequests"), 2, Count / 10);
    }

    private AnswerReader Follow(FetchRequest? request = null)
    {
        var reader = new AnswerReader();
        _peer.Follow(Opcode.Fetch, TestPeer.Encode(request ?? Messages.Open(Long, Messages.From(_queue, 0))), reader);
        return reader;
    }
}
