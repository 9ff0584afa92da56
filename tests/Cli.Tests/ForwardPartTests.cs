using EQueue.Cli.Consuming;
using Microsoft.Extensions.Logging;

namespace EQueue.Cli.Tests;

/// <summary>What <c>forward</c> counts, bounds and says.</summary>
public sealed class ForwardPartTests
{
    [Fact]
    public void GivenSpansThatAreSettledOutOfOrder_WhenLookedAt_ThenTheCursorGoesOnlyAsFarAsThereIsNoGap()
    {
        using var window = new ForwardWindow();
        var cursor = new ForwardCursor(10);
        ForwardSpan[] spans = [Open(window, cursor, 13, 3), Open(window, cursor, 15, 2), Open(window, cursor, 20, 1)];
        Assert.Equal((10, false), cursor.Look());
        Settle(spans[1], 2);
        Settle(spans[2], 1);
        Settle(spans[0], 2);
        Assert.Equal((10, false), cursor.Look());
        Settle(spans[0], 1);
        Assert.Equal((20, true), cursor.Look());
        Assert.True(window.IsEmpty);
        Assert.Equal((0, 6, 60), (window.OpenBytes, window.Messages, window.BodyBytes));
    }

    [Fact]
    public void GivenAnswersBeforeTheSpanIsClosed_WhenItIsClosed_ThenItIsDone()
    {
        using var window = new ForwardWindow();
        var span = new ForwardSpan(window, 0, 0, 100);
        window.Add(span);
        Settle(span, 3);
        Assert.False(span.IsDone);
        span.Close(next: 3, count: 3, bodyBytes: 30);
        Assert.True(span.IsDone);
    }

    [Fact]
    public void GivenAMessageThatIsNotStored_WhenLookedAt_ThenTheCursorStopsBeforeItsSpanForGood()
    {
        using var window = new ForwardWindow();
        var cursor = new ForwardCursor(0);
        ForwardSpan failed = Open(window, cursor, 5, 2);
        ForwardSpan behind = Open(window, cursor, 9, 1);
        Task changed = window.WhenChanged();
        Settle(failed, 1);
        ForwardSpan.Settled(failed, default, new EQueueException(ErrorCode.MessageTooLarge, "too large"));
        Settle(behind, 1);

        Assert.Equal((0, false), cursor.Look());
        Assert.True(window.IsEmpty && window.Failed.IsCancellationRequested && changed.IsCompleted);
        Assert.Equal(ErrorCode.MessageTooLarge, window.Failure!.Code);
        Assert.Equal(1, window.Messages);
    }

    [Fact]
    public void GivenATerminal_WhenSomethingIsSaid_ThenTheLineOfProgressGivesWayAndWarningsAreNotRepeatedAtOnce()
    {
        using var error = new StringWriter { NewLine = "\n" };
        var time = new SteppedTime();
        using (var log = new ForwardLog(error, isTerminal: true, time))
        {
            log.ShowProgress("1");
            log.ShowProgress("2");
            log.CreateLogger("any").LogWarning("away");
            log.CreateLogger("any").LogWarning("away");
            log.CreateLogger("any").LogInformation("connected");
            log.ShowProgress("3");
            time.Seconds += 10;
            log.CreateLogger("any").LogWarning("away");
        }

        const string Erase = "\r\u001b[K";
        Assert.Equal($"{Erase}1{Erase}2{Erase}equeue: away\n{Erase}3{Erase}equeue: away\n", error.ToString());
    }

    private static ForwardSpan Open(ForwardWindow window, ForwardCursor cursor, long next, int count)
    {
        var span = new ForwardSpan(window, 0, cursor.End, 100);
        cursor.Add(span);
        window.Add(span);
        cursor.End = next;
        span.Close(next, count, 10 * count);
        return span;
    }

    private static void Settle(ForwardSpan span, int count)
    {
        for (int i = 0; i < count; i++)
            ForwardSpan.Settled(span, default, null);
    }

    private sealed class SteppedTime : TimeProvider
    {
        public long Seconds { get; set; }

        public override long TimestampFrequency => 1;

        public override long GetTimestamp() => Seconds;
    }
}
