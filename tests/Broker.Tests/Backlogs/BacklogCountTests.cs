using FsCheck;
using FsCheck.Fluent;

namespace EQueue.Broker.Tests.Backlogs;

/// <summary>The count of a backlog beside lists of all batches and of what every group has committed. A failure prints
/// FsCheck's seed.</summary>
public sealed class BacklogCountTests
{
    private static readonly Config Many = Config.QuickThrowOnFailure.WithMaxTest(60);

    [Fact]
    public void GivenAnyCourse_WhenCounted_ThenMessagesAndBytesAreExact() => Check(seed =>
    {
        var course = new BacklogCourse(seed);
        for (int step = 0; step < 300; step++)
        {
            course.Step();
            course.Compare();
        }
    });

    [Fact]
    public void GivenAnyBacklog_WhenCut_ThenEveryGroupComesToTheBoundAndNoMoreGoesThanIsNeeded() => Check(seed =>
    {
        var course = new BacklogCourse(seed);
        for (int step = 0; step < 150; step++)
            course.Step();
        course.SettleAll();
        course.CutMessages();
        course.Compare();
        course.CutBytes();
        course.Compare();
    });

    [Fact]
    public void GivenOneGroup_WhenItsQueuesAreCut_ThenTheLongestGoDownToOneLength()
    {
        var count = new BacklogCount([], countsBytes: false);
        long[] ends = [100, 10, 40, 60];
        for (uint id = 1; id <= 4; id++)
            count.Measure(new QueueId(id), 0, ends[id - 1], [], 4);
        count.Commit("billing", hasMembers: true, new QueueId(1), 30);
        Assert.Equal(180, count.Messages);
        var starts = count.Cut(100, long.MaxValue).ToDictionary(
            one => one.Queue.Value, one => one.Start.Value);
        Assert.Equal([(1u, 70L), (3u, 10L), (4u, 30L)], starts.OrderBy(one => one.Key).Select(
            one => (one.Key, one.Value)));
    }

    [Fact]
    public void GivenMarksThatAreMeasured_WhenCommittedInsideABatch_ThenTheBatchStillCounts()
    {
        var count = new BacklogCount([], countsBytes: true);
        var queue = new QueueId(1);
        count.Measure(queue, 0, 20, [(10, 100), (20, 300)], 1);
        count.Commit("billing", hasMembers: true, queue, 9);
        Assert.Equal((11L, 400L), (count.Messages, count.Bytes));
        count.Commit("billing", hasMembers: true, queue, 10);
        Assert.Equal((10L, 300L), (count.Messages, count.Bytes));
    }

    [Fact]
    public void GivenWhatWasSentBeforeTheBound_WhenCommittedOrGone_ThenTheBacklogIsNeverBelowNothing()
    {
        var count = new BacklogCount([], countsBytes: true);
        var queue = new QueueId(1);
        count.Measure(queue, 0, 10, [(10, 100)], 1);
        count.Reserve(queue, 2, 20);
        count.Commit("billing", hasMembers: true, queue, 15);
        Assert.Equal(0, count.Messages);
        count.MoveStart(queue, 18);
        Assert.Equal((0L, 20L), (count.Messages, count.Bytes));
        count.Settle(queue, 2, 20, 20);
        Assert.Equal((2L, 20L), (count.Messages, count.Bytes));
    }

    [Fact]
    public void GivenBatchesOnTheirWay_WhenMeasuredAgain_ThenTheirRoomStaysTakenAndNothingCountsTwice()
    {
        var queue = new QueueId(1);
        var older = new BacklogCount([], countsBytes: true);
        older.Measure(queue, 0, 0, [], 1);
        older.Reserve(queue, 5, 50);
        older.Settle(queue, 5, 50, 5);
        older.Reserve(queue, 3, 30);
        older.Reserve(queue, 2, 20);
        older.Reserve(queue, 9, 90);
        older.Reserve(queue, 1, 10);
        var count = new BacklogCount(["billing"], countsBytes: true);
        count.TakeOver(older);
        Assert.Equal(5, older.StoredOf(queue));
        count.Settle(queue, 3, 30, 8);
        count.Settle(queue, 2, 20, 10);
        count.Measure(queue, 0, 8, [(8, 80)], 1);
        Assert.Equal((20L, 200L), (count.Messages, count.Bytes));
        count.Settle(queue, 9, 90, -1);
        Assert.Equal((11L, 110L), (count.Messages, count.Bytes));
        count.Settle(queue, 1, 10, 11);
        count.Commit("billing", hasMembers: true, queue, 9);
        Assert.Equal((2L, 30L), (count.Messages, count.Bytes));
    }

    private static void Check(Action<int> holds) =>
        Prop.ForAll(ArbMap.Default.ArbFor<int>(), seed =>
        {
            holds(seed);
            return true;
        }).Check(Many);
}
