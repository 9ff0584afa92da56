namespace EQueue.Remoting.Tests;

public sealed class InFlightRingTests
{
    private static readonly FrameHeader Header = new(FrameHeader.Size, 1, 1, FrameFlags.Response, 1, 0);

    [Fact]
    public void GivenAnswersOfABurst_WhenDelivered_ThenTheirSlotsAreFreeBeforeAnySinkIsCalled()
    {
        const int Slots = 128;
        var ring = new InFlightRing(Slots, exception => throw exception);
        var sink = new Sink(ring);
        var burst = new AnswerBurst(ring);
        uint[] ids = TakeMany(ring, sink, Slots);
        Assert.False(ring.TryTake(sink, 0, this, long.MaxValue, out _, out _));
        foreach (uint id in ids[..3]) End(ring, burst, id);
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
        foreach (uint id in ids) End(ring, burst, id);
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
        foreach (uint id in ids) End(ring, burst, id);
        burst.Deliver();
        Assert.Equal([0L, 2L], sink.Tokens);
        Assert.IsType<InvalidOperationException>(Assert.Single(failures));
    }

    private static uint[] TakeMany(InFlightRing ring, IResponseSink sink, int count) =>
        [.. Enumerable.Range(0, count).Select(token => Take(ring, sink, token))];

    private static uint Take(InFlightRing ring, IResponseSink sink, long token)
    {
        Assert.True(ring.TryTake(sink, token, ring, long.MaxValue, out uint id, out _));
        return id;
    }

    private static void End(InFlightRing ring, AnswerBurst burst, uint id)
    {
        Assert.True(ring.TryDisarm(id, out InFlightRing.Ending ending));
        Assert.False(ring.TryDisarm(id, out _));
        burst.Add(id, ending, new ResponseFrame(Header, ReadOnlyMemory<byte>.Empty, null, 0, 0));
    }

    private sealed class Sink(InFlightRing ring) : IResponseSink
    {
        public List<long> Tokens { get; } = [];

        public List<int> InFlightAtAnswer { get; } = [];

        public long FailingToken { get; init; } = -1;

        public void OnResponse(long token, ResponseFrame response)
        {
            if (token == FailingToken) throw new InvalidOperationException("Planted.");
            Tokens.Add(token);
            InFlightAtAnswer.Add(ring.InFlight);
        }

        public void OnFailure(long token, RemotingException exception) => throw exception;
    }
}
