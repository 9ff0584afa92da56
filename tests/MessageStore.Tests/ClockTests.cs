using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>A wall clock that is wrong: nothing goes for it, and stored times are right afterwards.</summary>
public sealed class ClockTests : StoreTest
{
    private const long Start = 1_700_000_000_000;

    private static readonly TimeSpan Week = TimeSpan.FromDays(7);
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTime _time = new(Start);
    private readonly CollectedLog _log = new();

    public ClockTests() => Time = _time;

    [Theory]
    [InlineData(8)]
    [InlineData(3_650)]
    public async Task GivenAClockThatIsAheadForSeconds_WhenRetentionRuns_ThenNothingGoesAndStoredTimesStayRight(int days)
    {
        await using QueueStore store = await OpenLoggedAsync();
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "a");

        _time.SetWallClock(TimeSpan.FromDays(days));
        Assert.Equal(0, await ApplyAsync(store));
        Pass(Second);
        Assert.Equal(Start + 1_000, await StoreAsync(store, queue));
        _time.SetWallClock(-TimeSpan.FromDays(days));
        Pass(Second);
        Assert.Equal(0, await ApplyAsync(store));

        Assert.Equal(Start + 2_000, await StoreAsync(store, queue));
        Assert.Equal(2, (await store.FindOffsetAsync(queue, Start + 1_001, Cancel)).Value);
        Assert.Equal(2, _log.CountOf(2210));
    }

    [Fact]
    public async Task GivenAClockThatWasSetBackByMonths_WhenAppending_ThenStoredTimesGoOnByTheRunningTime()
    {
        await using QueueStore store = await OpenLoggedAsync();
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "a");

        _time.SetWallClock(-TimeSpan.FromDays(30));
        Pass(TimeSpan.FromHours(3));
        Assert.Equal(Start + 10_800_000, await StoreAsync(store, queue));
        Assert.Equal(0, await ApplyAsync(store));
        Pass(TimeSpan.FromDays(6));
        Assert.Equal(0, await ApplyAsync(store));
        _time.SetWallClock(TimeSpan.FromDays(30));
        Pass(Second);

        Assert.Equal(_time.UnixMs, await StoreAsync(store, queue));
    }

    [Fact]
    public async Task GivenAClockThatStaysAhead_WhenAnHourHasRun_ThenItIsBelieved()
    {
        await using QueueStore store = await OpenLoggedAsync();
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "a");
        _time.SetWallClock(TimeSpan.FromDays(40));
        Assert.Equal(0, await ApplyAsync(store));
        Pass(TimeSpan.FromMinutes(59));
        Assert.Equal(0, await ApplyAsync(store));
        Assert.Equal(_time.UnixMs, await StoreAsync(store, queue));

        Pass(TimeSpan.FromMinutes(2));

        Assert.Equal(1, await ApplyAsync(store));
        Assert.Equal(_time.UnixMs + (long)TimeSpan.FromDays(40).TotalMilliseconds, await StoreAsync(store, queue));
        Assert.Equal(1, _log.CountOf(2213));
    }

    [Theory]
    [InlineData(40)]
    [InlineData(400)]
    public async Task GivenAStartWithAClockFarAhead_WhenItIsSetRightWithinTheHour_ThenNothingGoesAndTimesGoBack(int days)
    {
        QueueId queue = await FillAsync();
        _time.SetWallClock(TimeSpan.FromDays(days));
        await using QueueStore store = await OpenLoggedAsync();
        Assert.Equal(0, await ApplyAsync(store));
        await AppendAsync(store, queue, "wrong");
        Assert.Equal(1, _log.CountOf(2211));

        Pass(TimeSpan.FromMinutes(5));
        _time.SetWallClock(-TimeSpan.FromDays(days));
        await Eventually(() => _log.CountOf(2214) == 1);

        await AssertRightAsync(store, queue);
    }

    [Fact]
    public async Task GivenAStartWithAClockFarAhead_WhenTheNextStartHasTheRightOne_ThenTimesGoBack()
    {
        QueueId queue = await FillAsync();
        _time.SetWallClock(TimeSpan.FromDays(400));
        await using (QueueStore wrong = await OpenLoggedAsync())
            await AppendAsync(wrong, queue, "wrong");
        await using (QueueStore again = await OpenLoggedAsync())
            Assert.Equal(0, await ApplyAsync(again));
        _time.SetWallClock(-TimeSpan.FromDays(400));

        await using QueueStore store = await OpenLoggedAsync();

        await AssertRightAsync(store, queue);
    }

    [Fact]
    [EffectOf("Store:AcceptClock")]
    public async Task GivenALogThatIsAheadOfTheClock_WhenOpenedWithAcceptClock_ThenTimesAreRightNowAndLater()
    {
        QueueId queue = await FillAsync();
        _time.SetWallClock(TimeSpan.FromDays(400));
        await using (QueueStore wrong = await OpenLoggedAsync())
        {
            Pass(TimeSpan.FromHours(2));
            await AppendAsync(wrong, queue, "wrong");
        }

        _time.SetWallClock(-TimeSpan.FromDays(400));
        await using (QueueStore store = await OpenLoggedAsync())
        {
            Assert.Equal(1, _log.CountOf(2212));
            long ahead = _time.UnixMs + (long)TimeSpan.FromDays(400).TotalMilliseconds;
            Assert.Equal(ahead, await StoreAsync(store, queue));
            Assert.Equal(0, await ApplyAsync(store));
        }

        await using (QueueStore store = await OpenLoggedAsync(Segments with { AcceptClock = true }))
            await AssertRightAsync(store, queue);
        await using (QueueStore store = await OpenLoggedAsync())
            await AssertRightAsync(store, queue);
    }

    [Fact]
    public async Task GivenAStartAfterLongerThanARetentionKeeps_WhenRetentionRuns_ThenItWaitsForAnHour()
    {
        QueueId queue = await FillAsync();
        Pass(TimeSpan.FromHours(2));
        await using QueueStore store = await OpenLoggedAsync();
        var limits = new RetentionLimits(Age: TimeSpan.FromHours(1));
        Assert.Equal(0, await store.ApplyRetentionAsync(_ => limits, Cancel));
        Pass(TimeSpan.FromMinutes(61));
        Assert.Equal(1, await store.ApplyRetentionAsync(_ => limits, Cancel));
        Assert.True(store.TryGetQueue(queue, out QueueView view));
        Assert.Equal(view.End, view.Start);
    }

    [Fact]
    public async Task GivenManyOldMessages_WhenARoundTakesAShare_ThenTheyGoRoundByRound()
    {
        await using QueueStore store = await OpenLoggedAsync(Small);
        QueueId queue = await OpenQueueAsync(store);
        string[] bodies = [.. Enumerable.Repeat("a", 500)];
        for (int i = 0; i < 20; i++)
            await AppendAsync(store, queue, bodies);
        Pass(TimeSpan.FromHours(2));
        var limits = new RetentionLimits(Age: TimeSpan.FromHours(1), AgeShare: 0.25);

        foreach (int start in new[] { 2_500, 4_375, 5_781 })
        {
            await store.ApplyRetentionAsync(_ => limits, Cancel);
            Assert.True(store.TryGetQueue(queue, out QueueView view));
            Assert.Equal(start, view.Start.Value);
        }
    }

    /// <summary>Several segments of messages, one a second.</summary>
    private async Task<QueueId> FillAsync()
    {
        await using QueueStore store = await OpenLoggedAsync();
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 30; i++)
        {
            await store.AppendAsync(queue, TestBatch.OfSize(10_000, i), Durability.Policy, Cancel);
            Pass(Second);
        }

        return queue;
    }

    private async Task AssertRightAsync(QueueStore store, QueueId queue)
    {
        Assert.True(store.TryGetQueue(queue, out QueueView view));
        Assert.InRange(view.LastStoredTimeMs, Start, _time.UnixMs);
        Pass(Second);
        long before = _time.UnixMs;
        Pass(Second);
        Assert.Equal(before + 1_000, await StoreAsync(store, queue));
        Assert.Equal(view.End, await store.FindOffsetAsync(queue, before, Cancel));
        Assert.Equal(10, (await store.FindOffsetAsync(queue, Start + 10_000, Cancel)).Value);
        Assert.Equal(before + 1_000, await store.FindStoredTimeAsync(queue, view.End, Cancel));
        Assert.InRange((await store.FindStoredTimeAsync(queue, new QueueOffset(30), Cancel))!.Value, Start, before);
        Assert.Equal(0, await ApplyAsync(store));
        Assert.Equal(before + 1_000 - (Start + 5_000), before + 1_000 - await store.FindStoredTimeAsync(
            queue, new QueueOffset(5), Cancel));
    }

    private static Task<int> ApplyAsync(QueueStore store) =>
        store.ApplyRetentionAsync(_ => new RetentionLimits(Age: Week), Cancel);

    private static async Task<long> StoreAsync(QueueStore store, QueueId queue) =>
        (await store.AppendAsync(queue, TestBatch.Of("a"), Durability.Policy, Cancel)).StoredTimeMs;

    private StoreOptions Segments => Small with { SegmentSizeBytes = 64 << 10, MaxBatchBytes = 16 << 10 };

    private void Pass(TimeSpan time) => _time.UnixMs += (long)time.TotalMilliseconds;

    private Task<QueueStore> OpenLoggedAsync(StoreOptions? options = null)
    {
        State = new MemoryState();
        return QueueStore.OpenAsync(
            options ?? Segments, State, _log, Time, Cancel);
    }
}
