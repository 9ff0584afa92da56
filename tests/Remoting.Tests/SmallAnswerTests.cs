using System.Threading.Channels;

namespace EQueue.Remoting.Tests;

/// <summary>A small answer lies in its call's slot until it is disposed.</summary>
public sealed class SmallAnswerTests
{
    [Fact]
    public async Task GivenSmallAnswersThatAreKept_WhenTheirSlotsComeRoundManyTimes_ThenTheyStayAsTheyWere()
    {
        var ring = new InFlightRing(8, exception => throw exception);
        var kept = new List<ResponseFrame>();
        for (byte number = 0; number < 100; number++)
            kept.Add(await AnswerAsync(ring, number));
        for (byte number = 0; number < 100; number++)
        {
            Assert.Equal(number, kept[number].Payload.Span[^1]);
            Assert.Equal(CallCell.SmallBytes - FrameHeader.Size, kept[number].Payload.Length);
            Assert.Equal(CallCell.SmallBytes, (int)kept[number].Header.Length);
        }
    }

    [Fact]
    public async Task GivenASmallAnswerDisposedTwice_WhenItsSlotHasAnother_ThenThatIsNotTouched()
    {
        var ring = new InFlightRing(1, exception => throw exception);
        ResponseFrame first = await AnswerAsync(ring, 1);
        ResponseFrame copy = first;
        first.Dispose();
        ResponseFrame second = await AnswerAsync(ring, 2);
        copy.Dispose();
        ResponseFrame third = await AnswerAsync(ring, 3);
        Assert.Equal(2, second.Payload.Span[^1]);
        Assert.Equal(3, third.Payload.Span[^1]);
    }

    [Fact]
    public async Task GivenACallThatIsOver_WhenAwaitedAgain_ThenItThrows()
    {
        var ring = new InFlightRing(1, exception => throw exception);
        Assert.True(
            ring.TryTake(null, 0, ring, long.MaxValue, CancellationToken.None, out uint id, out PendingCall? call));
        ValueTask<ResponseFrame> task = call.Task;
        Answer(ring, id, 1);
        ResponseFrame answer = await task;
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await task);
        answer.Dispose();
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await task);
    }

    [Fact]
    public async Task GivenAwaitersAndAnswersAtOnce_WhenTheyMeet_ThenEachAwaiterGoesOnWithItsOwn()
    {
        var ring = new InFlightRing(64, exception => throw exception);
        var armed = Channel.CreateUnbounded<(uint Id, byte Number)>();
        CancellationToken testToken = TestContext.Current.CancellationToken;
        var answering = Task.Run(
            async () =>
            {
                var burst = new AnswerBurst(ring);
                while (await armed.Reader.WaitToReadAsync(testToken))
                {
                    while (armed.Reader.TryRead(out (uint Id, byte Number) next))
                        Add(ring, burst, next.Id, next.Number);
                    burst.Deliver();
                }
            },
            testToken);
        Task[] awaiting = [.. Enumerable.Range(0, 6).Select(_ => Task.Run(() => AwaitManyAsync(ring, armed), testToken))];
        await Task.WhenAll(awaiting).WaitAsync(TimeSpan.FromSeconds(60), testToken);
        armed.Writer.Complete();
        await answering.WaitAsync(TimeSpan.FromSeconds(30), testToken);
        Assert.Equal(0, ring.InFlight);
    }

    private static async Task AwaitManyAsync(InFlightRing ring, Channel<(uint Id, byte Number)> armed)
    {
        for (int i = 0; i < 50_000; i++)
        {
            Assert.True(
                ring.TryTake(null, 0, ring, long.MaxValue, CancellationToken.None, out uint id, out PendingCall? call));
            ValueTask<ResponseFrame> task = call.Task;
            Assert.True(armed.Writer.TryWrite((id, (byte)i)));
            using ResponseFrame answer = await task;
            if (answer.Payload.Span[^1] != (byte)i)
                Assert.Fail($"Call {i} got another's answer.");
        }
    }

    private static async ValueTask<ResponseFrame> AnswerAsync(InFlightRing ring, byte number)
    {
        Assert.True(
            ring.TryTake(null, 0, ring, long.MaxValue, CancellationToken.None, out uint id, out PendingCall? call));
        ValueTask<ResponseFrame> task = call.Task;
        Answer(ring, id, number);
        return await task;
    }

    private static void Answer(InFlightRing ring, uint id, byte number)
    {
        var burst = new AnswerBurst(ring);
        Add(ring, burst, id, number);
        burst.Deliver();
    }

    private static void Add(InFlightRing ring, AnswerBurst burst, uint id, byte number)
    {
        byte[] payload = new byte[CallCell.SmallBytes - FrameHeader.Size];
        payload[^1] = number;
        Assert.True(ring.TryDisarm(id, out InFlightRing.Ending ending));
        Assert.IsType<PendingCall>(ending.Sink).Keep(
            FrameHeader.Of(payload, 1, 1, FrameFlags.Response, id, 0), payload);
        burst.Add(id, ending);
    }
}
