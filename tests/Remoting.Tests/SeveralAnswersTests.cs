using System.Threading.Channels;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>A request that takes several answers gets them in order, and ends with the last one or a failure.</summary>
public sealed class SeveralAnswersTests
{
    private static readonly TimeSpan Pause = TimeSpan.FromSeconds(10);

    [Fact]
    public async Task GivenASinkForSeveralAnswers_WhenTheyCome_ThenItGetsAllOfThemInOrderAndTheCallIsOver()
    {
        const int Count = 100;
        FrameFlags asked = default;
        await using TestServer server = await TestServer.StartAsync(new ScriptedHandler
        {
            OnCustom = (connection, header, _) =>
            {
                asked = header.Flags;
                for (byte i = 0; i < Count; i++)
                    Answer(connection, header, i, i < Count - 1 ? FrameFlags.More : FrameFlags.None);
                return ValueTask.CompletedTask;
            },
        });
        await using RemotingClient client = server.NewClient();
        var sink = new Sink();
        Invoke(client, sink, token: 7);
        for (int i = 0; i < Count; i++)
            Assert.Equal((7, i, null), await sink.NextAsync());
        Assert.Equal(FrameFlags.More, asked);
        await Eventually.TrueAsync(() => client.InFlight == 0);
        Assert.Equal([1, 2], await client.EchoAsync([1, 2]));
        Assert.True(sink.IsEmpty);
    }

    [Fact]
    public async Task GivenCallersOfOneAnswer_WhenItSaysThatMoreFollow_ThenItIsTheAnswerAndTheRestIsDropped()
    {
        var asked = Channel.CreateUnbounded<FrameFlags>();
        await using TestServer server = await TestServer.StartAsync(new ScriptedHandler
        {
            OnCustom = (connection, header, _) =>
            {
                asked.Writer.TryWrite(header.Flags);
                Answer(connection, header, 1, FrameFlags.More);
                Answer(connection, header, 2, FrameFlags.None);
                return ValueTask.CompletedTask;
            },
        });
        await using RemotingClient client = server.NewClient();
        byte[] first = await client.EchoAsync([], ScriptedHandler.Custom);
        Assert.Equal([1], first);
        var sink = new Sink { LongestPause = TimeSpan.Zero };
        Invoke(client, sink, token: 1);
        Assert.Equal((1, 1, null), await sink.NextAsync());
        Assert.Equal([3], await client.EchoAsync([3]));
        Assert.True(sink.IsEmpty);
        Assert.Equal(0, client.InFlight);
        Assert.Equal(FrameFlags.None, await asked.Reader.ReadAsync());
        Assert.Equal(FrameFlags.None, await asked.Reader.ReadAsync());
    }

    [Fact]
    public async Task GivenACallThatGoesOn_WhenTheConnectionIsLost_ThenTheSinkIsToldOnce()
    {
        await using TestServer server = await TestServer.StartAsync(new ScriptedHandler
        {
            OnCustom = (connection, header, _) =>
            {
                if (header.IsOneway)
                    return ValueTask.CompletedTask;
                Answer(connection, header, 1, FrameFlags.More);
                return ValueTask.CompletedTask;
            },
        });
        await using RemotingClient client = server.NewClient();
        var sink = new Sink();
        Invoke(client, sink, token: 3);
        Assert.Equal((3, 1, null), await sink.NextAsync());
        Assert.Equal(1, client.InFlight);
        await server.DisposeAsync();
        Assert.Equal((3, -1, RemotingError.ConnectionLost), await sink.NextAsync());
        Assert.Equal(0, client.InFlight);
    }

    [Fact]
    public async Task GivenManyAnswersToOneRequest_WhenTheServerStops_ThenAnotherRequestIsAnsweredBeforeTheEnd()
    {
        var answering = new TaskCompletionSource();
        var stopping = new TaskCompletionSource();
        await using TestServer server = await TestServer.StartAsync(new ScriptedHandler
        {
            OnCustom = (connection, header, payload) =>
            {
                if (header.Flags.HasFlag(FrameFlags.More))
                {
                    for (byte i = 0; i < 10; i++)
                        Answer(connection, header, i, FrameFlags.More);
                    _ = stopping.Task.ContinueWith(
                        _ => Answer(connection, header, 10, FrameFlags.None), TaskScheduler.Default);
                    return ValueTask.CompletedTask;
                }

                answering.SetResult();
                _ = stopping.Task.ContinueWith(
                    async _ =>
                    {
                        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(300));
                        Answer(connection, header, 99, FrameFlags.None);
                    },
                    TaskScheduler.Default);
                return ValueTask.CompletedTask;
            },
        });
        await using RemotingClient client = server.NewClient();
        var sink = new Sink();
        Invoke(client, sink, token: 0);
        for (int i = 0; i < 10; i++)
            Assert.Equal((0, i, null), await sink.NextAsync());
        ValueTask<ResponseFrame> other =
            client.InvokeAsync(Calls.Buffer([1]), ScriptedHandler.Custom, 1, Calls.Timeout, CancellationToken.None);
        await answering.Task.WaitAsync(Calls.Timeout);
        Task stopped = server.Server.StopAsync(Calls.Timeout, CancellationToken.None);
        stopping.SetResult();
        Assert.Equal((0, 10, null), await sink.NextAsync());
        using ResponseFrame answer = await other;
        Assert.Equal(99, answer.PayloadSpan[0]);
        await stopped;
    }

    [Fact]
    public void GivenAnAnswerThatMoreFollow_WhenItComes_ThenTheNextHasAsLongAgain()
    {
        var ring = new InFlightRing(8, exception => throw exception);
        var clock = new CallClock(TimeProvider.System, TimeSpan.FromSeconds(1));
        var sink = new Sink();
        long began = clock.NowMs();
        Assert.True(ring.TryTake(sink, 5, this, began, CancellationToken.None, out uint id, out PendingCall? call));
        Assert.True(ring.TryGoOn(id, clock, out InFlightRing.Ending ending));
        Assert.Equal((5, sink), (ending.Token, ending.Sink));
        Assert.InRange(call.Deadline, began + (long)Pause.TotalMilliseconds, clock.NowMs() + (long)Pause.TotalMilliseconds);
        ring.FailOverdue(call.Deadline - 1);
        Assert.True(sink.IsEmpty);
        Assert.Equal(1, ring.InFlight);
        ring.FailOverdue(call.Deadline);
        Assert.Equal(0, ring.InFlight);
        Assert.False(ring.TryGoOn(id, clock, out _));
        Assert.False(ring.TryGoOn(0, clock, out _));
        Assert.False(ring.TryGoOn(uint.MaxValue, clock, out _));
    }

    [Fact]
    public async Task GivenAnswersThatGoOnWhileCallsEndAndOthersBegin_WhenTheyMeet_ThenNoneIsToldOfAnothers()
    {
        const int Calls = 200_000;
        var ring = new InFlightRing(8, exception => throw exception);
        var clock = new CallClock(TimeProvider.System, TimeSpan.FromSeconds(1));
        var sinks = new Sink[256];
        for (int i = 0; i < sinks.Length; i++)
            sinks[i] = new Sink();
        uint now = 0;
        bool isOver = false;
        long wentOn = 0;
        var answering = Task.Run(() =>
        {
            while (!Volatile.Read(ref isOver))
            {
                uint id = Volatile.Read(ref now);
                if (id == 0 || !ring.TryGoOn(id, clock, out InFlightRing.Ending ending))
                    continue;
                wentOn++;
                if (ending.Token != (long)Array.IndexOf(sinks, ending.Sink))
                    Assert.Fail($"Token {ending.Token} met another's sink.");
            }
        });
        for (int i = 0; i < Calls; i++)
        {
            int number = i % sinks.Length;
            Assert.True(
                ring.TryTake(sinks[number], number, this, long.MaxValue, CancellationToken.None, out uint id, out _));
            Volatile.Write(ref now, id);
            ring.Fail(id, Failures.Disposed());
        }

        Volatile.Write(ref isOver, true);
        await answering.WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken);
        Assert.Equal(0, ring.InFlight);
        Assert.True(wentOn > 0, "No answer met its call.");
    }

    private static void Invoke(RemotingClient client, Sink sink, long token) => client.Invoke(
        Calls.Buffer([9]), ScriptedHandler.Custom, 1, Calls.Timeout, sink, token, inlineAllowed: true);

    private static void Answer(FrameConnection connection, FrameHeader header, byte number, FrameFlags flags) =>
        connection.Send(
            Calls.Buffer([number]), header.Opcode, header.Version, FrameFlags.Response | flags, header.CorrelationId, 0);

    private sealed class Sink : IAnswersSink
    {
        private readonly Channel<(long Token, int Number, RemotingError? Error)> _told =
            Channel.CreateUnbounded<(long, int, RemotingError?)>();

        public TimeSpan LongestPause { get; init; } = Pause;

        public bool IsEmpty => !_told.Reader.TryPeek(out _);

        public async Task<(long Token, int Number, RemotingError? Error)> NextAsync() =>
            await _told.Reader.ReadAsync().AsTask().WaitAsync(Calls.Timeout);

        public void OnResponse(long token, ResponseFrame response)
        {
            _told.Writer.TryWrite((token, response.PayloadSpan[0], null));
            response.Dispose();
        }

        public void OnFailure(long token, RemotingException exception) =>
            _told.Writer.TryWrite((token, -1, exception.Error));
    }
}
