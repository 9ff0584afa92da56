using FsCheck;
using FsCheck.Fluent;

namespace EQueue.Broker.Tests.Backlogs;

/// <summary>Bytes before an offset, beside a list of all batches. A failure prints FsCheck's seed.</summary>
public sealed class QueueBytesTests
{
    private static readonly Config Many = Config.QuickThrowOnFailure.WithMaxTest(60);

    private const int LeastMarks = 64;

    [Fact]
    public void GivenAnyBatches_WhenAskedAnywhere_ThenItIsExactNearTheEndAndNeverTooMuch() => Check(seed =>
    {
        var random = new Random(seed);
        var batches = new List<(long End, long Bytes)>();
        var bytes = new QueueBytes(LeastMarks);
        long end = 0;
        int count = random.Next(2_000);
        for (int i = 0; i < count; i++)
        {
            end += random.Next(1, 20);
            batches.Add((end, random.Next(100, random.Next(2) == 0 ? 200 : 100_000)));
            bytes.Add(batches[^1].End, batches[^1].Bytes);
            Assert.InRange(bytes.MarkCount, 1, LeastMarks);
        }

        Assert.Equal(batches.Sum(batch => batch.Bytes), bytes.Total);
        for (int i = 0; i < 20; i++)
        {
            long offset = random.NextInt64(end + 1);
            long truth = batches.Where(batch => batch.End <= offset).Sum(batch => batch.Bytes);
            Assert.InRange(bytes.Before(offset), 0, truth);
            if (batches.Count(batch => batch.End > offset) < LeastMarks / 4)
                Assert.Equal(truth, bytes.Before(offset));
        }
    });

    [Theory]
    [InlineData(LeastMarks, 1)]
    [InlineData(1 << 12, 100)]
    public void GivenMoreBatchesThanMarks_WhenAskedFarBack_ThenTooMuchIsASmallPartOfWhatLiesBehind(int marks, int part)
    {
        var bytes = new QueueBytes(marks);
        const int Count = 200_000;
        for (int i = 1; i <= Count; i++)
            bytes.Add(i, 100);
        for (long offset = 0; offset <= Count; offset += 997)
        {
            long behind = (Count - offset) * 100;
            Assert.InRange(bytes.Total - bytes.Before(offset), behind, behind + (behind / part));
        }
    }

    [Fact]
    public void GivenBatchesOutOfOrder_WhenAsked_ThenEachCountsWhereItEnds() => Check(seed =>
    {
        var random = new Random(seed);
        (long End, long Bytes)[] batches = [.. Enumerable.Range(1, 60).Select(i => (i * 3L, random.NextInt64(1, 500)))];
        var bytes = new QueueBytes(LeastMarks);
        foreach ((long end, long size) in batches.OrderBy(batch => batch.End + random.Next(12)))
            bytes.Add(end, size);
        for (long offset = 0; offset <= 190; offset++)
        {
            long truth = batches.Where(batch => batch.End <= offset).Sum(batch => batch.Bytes);
            Assert.Equal(truth, bytes.Before(offset));
        }
    });

    [Fact]
    public void GivenStartsThatMove_WhenCut_ThenTheBytesAreGivenOnceAndNoneOfThoseThatAreLeft() => Check(seed =>
    {
        var random = new Random(seed);
        var bytes = new QueueBytes(LeastMarks);
        var batches = new List<(long End, long Bytes)>();
        long end = 0;
        long start = 0;
        long given = 0;
        for (int i = 0; i < 600; i++)
        {
            end += random.Next(1, 5);
            batches.Add((end, random.Next(1, 300)));
            bytes.Add(end, batches[^1].Bytes);
            if (random.Next(10) == 0)
            {
                start = random.NextInt64(start, end + 1);
                given += bytes.CutBefore(start);
            }

            long left = batches.Where(batch => batch.End > start).Sum(batch => batch.Bytes);
            Assert.Equal(bytes.Base, given);
            Assert.InRange(bytes.Total - bytes.Base, left, left + (left / 2) + 300);
        }

        given += bytes.CutBefore(end);
        Assert.Equal(bytes.Total, given);
    });

    [Fact]
    public void GivenALimit_WhenAskedWhereToCut_ThenItIsMetAndNotByAMarkMoreThanNeeded() => Check(seed =>
    {
        var random = new Random(seed);
        var bytes = new QueueBytes(LeastMarks);
        (long End, long Bytes)[] batches = [.. Enumerable.Range(1, 60).Select(i => (i * 2L, random.NextInt64(1, 500)))];
        foreach ((long end, long size) in batches)
            bytes.Add(end, size);
        long limit = random.NextInt64(bytes.Total);
        long cut = bytes.FindEnd(limit);
        Assert.InRange(batches.Where(batch => batch.End > cut).Sum(batch => batch.Bytes), 0, limit);
        if (cut > 2)
            Assert.True(batches.Where(batch => batch.End > cut - 2).Sum(batch => batch.Bytes) > limit);
    });

    private static void Check(Action<int> holds) =>
        Prop.ForAll(ArbMap.Default.ArbFor<int>(), seed =>
        {
            holds(seed);
            return true;
        }).Check(Many);
}
