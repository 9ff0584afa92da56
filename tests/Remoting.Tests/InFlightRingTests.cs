namespace EQueue.Remoting.Tests;

public sealed class InFlightRingTests
{
    [Fact]
    public void GivenAnswersOfABurst_WhenDelivered_ThenTheirSlotsAreFreeBeforeAnySinkIsCalled()
    {
        const int Slots = 128;
        var ring = new InFlightRing(Slots, exception => throw exception);
        var sink = new Sink(ring);
        var burst = new AnswerBurst(ring);
        uint[] ids = TakeMany(ring, sink, Slots);
        Assert.False(ring.TryTake(sink, 0, this, long.MaxValue, CancellationToken.None, out _, out _));
        foreach (uint id in ids[..3])
            End(ring, burst, id);
        Assert.Empty(sink.InFlightAtAnswer);
        Assert.Equal(Slots, ring.InFlight);
        burst.Deliver();
        Assert.Equal([Slots - 3, Slots - 3, Slots - 3], sink.InFlightAtAnswer);
        Assert.Equal([0L, 1L, 2L], sink.Tokens);
        Assert.NotEqual(ids[0], Take(ring, sink, 0));
    }

    [Fact]
    public void GivenMoreAnswersThanABurstHolds_WhenAdded_ThenEachIsDeliveredOnceAndInOrder()
    {
        const int Slots = 256;
        var ring = new InFlightRing(Slots, exception => throw exception);
        var sink = new Sink(ring);
        var burst = new AnswerBurst(ring);
        uint[] ids = TakeMany(ring, sink, Slots);
        foreach (uint id in ids)
            End(ring, burst, id);
        burst.Deliver();
        burst.Deliver();
        Assert.Equal(Enumerable.Range(0, Slots).Select(token => (long)token), sink.Tokens);
        Assert.Equal(0, ring.InFlight);
    }

    [Fact]
    public void GivenASinkThatThrows_WhenABurstIsDelivered_ThenTheOthersAreToldAndTheFailureIsNoted()
    {
        var failures = new List<Exception>();
        var ring = new InFlightRing(8, failures.Add);
        var sink = new Sink(ring) { FailingToken = 1 };
        var burst = new AnswerBurst(ring);
        uint[] ids = TakeMany(ring, sink, 3);
        foreach (uint id in ids)
            End(ring, burst, id);
        burst.Deliver();
        Assert.Equal([0L, 2L], sink.Tokens);
        Assert.IsType<InvalidOperationException>(Assert.Single(failures));
    }

    [Fact]
    public async Task GivenAwaitedCallsInABurst_WhenDelivered_ThenAllAreOverBeforeTheFirstAwaiterGoesOn()
    {
        var ring = new InFlightRing(8, exception => throw exception);
        var burst = new AnswerBurst(ring);
        using var goneOn = new ManualResetEventSlim();
        (uint firstId, ValueTask<ResponseFrame> first) = TakeAwaited(ring);
        (uint lastId, ValueTask<ResponseFrame> last) = TakeAwaited(ring);
        var late = new LateSink(goneOn, () => last.IsCompleted);
        Assert.True(ring.TryTake(late, 0, ring, long.MaxValue, CancellationToken.None, out uint lateId, out _));
        Task awaiting = AwaitAsync(first, goneOn);
        End(ring, burst, firstId);
        End(ring, burst, lastId);
        End(ring, burst, lateId);
        Assert.False(first.IsCompleted);
        burst.Deliver();
        await awaiting.WaitAsync(TimeSpan.FromSeconds(10), TestContext.Current.CancellationToken);
        Assert.False(late.HasGoneOn, "The first awaiter went on while the burst was being delivered.");
        Assert.True(late.IsLastOver);
        await last;
    }

    [Fact]
    public async Task GivenAnAwaiterWithContexts_WhenItsCallEnds_ThenItGoesOnInThem()
    {
        var ring = new InFlightRing(8, exception => throw exception);
        (uint id, ValueTask<ResponseFrame> call) = TakeAwaited(ring);
        var place = new AsyncLocal<string> { Value = "of the awaiter" };
        var context = new NotingContext();
        var seen = new TaskCompletionSource<string?>();
        SynchronizationContext? before = SynchronizationContext.Current;
        SynchronizationContext.SetSynchronizationContext(context);
        call.GetAwaiter().OnCompleted(() => seen.SetResult(place.Value));
        SynchronizationContext.SetSynchronizationContext(before);
        place.Value = "of who ends it";
        ring.Fail(id, Failures.TimedOut("Planted."));
        Task<string?> inTime = seen.Task.WaitAsync(TimeSpan.FromSeconds(10), TestContext.Current.CancellationToken);
        Assert.Equal("of the awaiter", await inTime);
        Assert.Equal(1, context.PostCount);
        await Assert.ThrowsAsync<RemotingException>(async () => await call);
    }

    [Fact]
    public void GivenCallsWithDeadlines_WhenOneIsDueBeforeAllOthers_ThenTheRingTellsAndKnowsTheEarliestThatIsLeft()
    {
        var told = new List<long>();
        var ring = new InFlightRing(8, exception => throw exception, told.Add);
        foreach (long deadline in new[] { 500L, 600, 400, 450 })
            Assert.True(ring.TryTake(null, 0, ring, deadline, CancellationToken.None, out _, out _));
        Assert.Equal([500L, 400], told);
        Assert.Equal(400, ring.EarliestDeadline);
        ring.FailOverdue(460);
        Assert.Equal(2, ring.InFlight);
        Assert.Equal(500, ring.EarliestDeadline);
        Assert.True(ring.TryTake(null, 0, ring, 480, CancellationToken.None, out _, out _));
        Assert.Equal([500L, 400, 480], told);
    }

    private static async Task AwaitAsync(ValueTask<ResponseFrame> call, ManualResetEventSlim goneOn)
    {
        await call.ConfigureAwait(false);
        goneOn.Set();
    }

    private static (uint Id, ValueTask<ResponseFrame> Call) TakeAwaited(InFlightRing ring)
    {
        Assert.True(
            ring.TryTake(null, 0, ring, long.MaxValue, CancellationToken.None, out uint id, out PendingCall? call));
        return (id, call.Task);
    }

    private static uint[] TakeMany(InFlightRing ring, IResponseSink sink, int count) =>
        [.. Enumerable.Range(0, count).Select(token => Take(ring, sink, token))];

    private static uint Take(InFlightRing ring, IResponseSink sink, long token)
    {
        Assert.True(ring.TryTake(sink, token, ring, long.MaxValue, CancellationToken.None, out uint id, out _));
        return id;
    }

    private static void End(InFlightRing ring, AnswerBurst burst, uint id)
    {
        Assert.True(ring.TryDisarm(id, out InFlightRing.Ending ending));
        Assert.False(ring.TryDisarm(id, out _));
        burst.Add(id, ending, default);
    }

    /// <summary>Gives an awaiter that goes on too soon the time to do so.</summary>
    private sealed class LateSink(ManualResetEventSlim goneOn, Func<bool> isOver) : IResponseSink
    {
        public bool HasGoneOn { get; private set; }

        public bool IsLastOver { get; private set; }

        public void OnResponse(long token, ResponseFrame response)
        {
            HasGoneOn = goneOn.Wait(TimeSpan.FromMilliseconds(300));
            IsLastOver = isOver();
        }

        public void OnFailure(long token, RemotingException exception) => throw exception;
    }

    private sealed class NotingContext : SynchronizationContext
    {
        private int _postCount;

        public int PostCount => Volatile.Read(ref _postCount);

        public override void Post(SendOrPostCallback d, object? state)
        {
            Interlocked.Increment(ref _postCount);
            ThreadPool.QueueUserWorkItem(_ => d(state));
        }
    }

    private sealed class Sink(InFlightRing ring) : IResponseSink
    {
        public List<long> Tokens { get; } = [];

        public List<int> InFlightAtAnswer { get; } = [];

        public long FailingToken { get; init; } = -1;

        public void OnResponse(long token, ResponseFrame response)
        {
            if (token == FailingToken)
                throw new InvalidOperationException("Planted.");
            Tokens.Add(token);
            InFlightAtAnswer.Add(ring.InFlight);
        }

        public void OnFailure(long token, RemotingException exception) => throw exception;
    }
}
