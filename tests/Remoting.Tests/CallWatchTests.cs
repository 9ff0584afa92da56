namespace EQueue.Remoting.Tests;

/// <summary>Calls that their tokens end.</summary>
public sealed class CallWatchTests
{
    private readonly InFlightRing _ring = new(64, exception => throw exception);

    [Fact]
    public async Task GivenCallsWithTwoTokens_WhenOneIsCancelled_ThenItsCallsAloneFail()
    {
        using var one = new CancellationTokenSource();
        using var other = new CancellationTokenSource();
        (uint Id, ValueTask<ResponseFrame> Call)[] ofOne = [Take(one), Take(one)];
        (uint otherId, ValueTask<ResponseFrame> ofOther) = Take(other);
        (uint bareId, ValueTask<ResponseFrame> bare) = Take(null);
        (uint Id, ValueTask<ResponseFrame> Call) late = Take(one);
        await one.CancelAsync();
        foreach ((_, ValueTask<ResponseFrame> call) in ofOne.Append(late))
        {
            RemotingException failure = await Assert.ThrowsAsync<RemotingException>(async () => await call);
            Assert.Equal(RemotingError.Cancelled, failure.Error);
        }

        Assert.False(ofOther.IsCompleted || bare.IsCompleted, "Another's call was ended.");
        Assert.Equal(2, _ring.InFlight);
        foreach (uint id in (uint[])[otherId, bareId])
            _ring.Fail(id, Failures.TimedOut("Planted."));
        await Assert.ThrowsAsync<RemotingException>(async () => await ofOther);
        await Assert.ThrowsAsync<RemotingException>(async () => await bare);
        Assert.Equal(0, _ring.InFlight);
    }

    [Fact]
    public async Task GivenALoneCallOfManyBefore_WhenItsTokenIsCancelled_ThenItFails()
    {
        using var source = new CancellationTokenSource();
        for (int i = 0; i < 3; i++)
        {
            (uint id, ValueTask<ResponseFrame> over) = Take(source);
            _ring.Fail(id, Failures.TimedOut("Planted."));
            await Assert.ThrowsAsync<RemotingException>(async () => await over);
        }

        (_, ValueTask<ResponseFrame> call) = Take(source);
        await source.CancelAsync();
        RemotingException failure = await Assert.ThrowsAsync<RemotingException>(async () => await call);
        Assert.Equal(RemotingError.Cancelled, failure.Error);
    }

    [Fact]
    public async Task GivenAllCallsOfATokenAreOver_WhenItsSourceIsResetAndUsedAgain_ThenCancellationIsSeen()
    {
        using var source = new CancellationTokenSource();
        var burst = new AnswerBurst(_ring);
        (uint Id, ValueTask<ResponseFrame> Call)[] calls = [Take(source), Take(source), Take(source)];
        foreach ((uint id, _) in calls)
        {
            Assert.True(_ring.TryDisarm(id, out InFlightRing.Ending ending));
            burst.Add(id, ending, default);
        }

        burst.Deliver();
        foreach ((_, ValueTask<ResponseFrame> call) in calls)
            (await call).Dispose();
        Assert.True(source.TryReset());
        (_, ValueTask<ResponseFrame> next) = Take(source);
        await source.CancelAsync();
        Assert.True(next.IsCompleted, "A registration that the reset had taken away was taken for one that is there.");
        await Assert.ThrowsAsync<RemotingException>(async () => await next);
    }

    [Fact]
    public async Task GivenATokenCancelledBeforeItsCallIsArmed_WhenLookedAt_ThenTheCallFails()
    {
        using var source = new CancellationTokenSource();
        await source.CancelAsync();
        (uint id, ValueTask<ResponseFrame> call) = Take(source);
        Assert.False(call.IsCompleted);
        _ring.FailIfCancelled(id, source.Token);
        await Assert.ThrowsAsync<RemotingException>(async () => await call);
        Assert.Equal(0, _ring.InFlight);
    }

    [Fact]
    public async Task GivenCallersAndCancellersAtOnce_WhenAllIsOver_ThenEveryCallEndedOnceAndNoneIsLeft()
    {
        var ring = new InFlightRing(256, exception => throw exception);
        CancellationToken testToken = TestContext.Current.CancellationToken;
        Task[] callers = [.. Enumerable.Range(0, 4).Select(number => Task.Run(() => CallAsync(ring, number), testToken))];
        await Task.WhenAll(callers).WaitAsync(TimeSpan.FromSeconds(60), testToken);
        Assert.Equal(0, ring.InFlight);
    }

    /// <summary>Half of the calls are answered, by another thread; the rest only their token ends.</summary>
    private static async Task CallAsync(InFlightRing ring, int number)
    {
        var random = new Random(number);
        for (int round = 0; round < 3_000; round++)
        {
            using var source = new CancellationTokenSource();
            var calls = new List<ValueTask<ResponseFrame>>();
            Task ending = Task.CompletedTask;
            for (int i = random.Next(1, 6); i > 0; i--)
            {
                if (!ring.TryTake(
                    null, 0, ring, long.MaxValue, source.Token, out uint id, out PendingCall? call))
                {
                    break;
                }

                calls.Add(call.Task);
                ring.FailIfCancelled(id, source.Token);
                if (random.Next(2) == 0)
                    ending = Task.Run(() => ring.Fail(id, Failures.TimedOut("Planted.")));
            }

            if (random.Next(2) == 0)
                await ending;
            source.Cancel();
            foreach (ValueTask<ResponseFrame> call in calls)
                await Assert.ThrowsAsync<RemotingException>(async () => await call);
            await ending;
        }
    }

    private (uint Id, ValueTask<ResponseFrame> Call) Take(CancellationTokenSource? source)
    {
        CancellationToken token = source?.Token ?? CancellationToken.None;
        Assert.True(_ring.TryTake(null, 0, _ring, long.MaxValue, token, out uint id, out PendingCall? call));
        return (id, call.Task);
    }
}
