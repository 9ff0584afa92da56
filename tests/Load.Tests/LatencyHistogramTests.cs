using EQueue.Load.Measuring;

namespace EQueue.Load.Tests;

public sealed class LatencyHistogramTests
{
    [Theory]
    [InlineData(11)]
    [InlineData(12)]
    [InlineData(13)]
    [InlineData(14)]
    public void GivenRandomDurations_WhenPercentilesAreTaken_ThenTheyAreAtMostOnePercentAboveTheTrueOnes(int seed)
    {
        var random = new Random(seed);
        var histogram = new LatencyHistogram();
        long[] values = new long[random.Next(1, 20_000)];
        foreach (ref long value in values.AsSpan())
        {
            value = (long)Math.Exp(random.NextDouble() * Math.Log(1e12));
            histogram.Record(value);
        }

        Array.Sort(values);
        foreach (double percent in new[] { 0.1, 1, 25, 50, 90, 99, 99.9, 99.99, 100 })
        {
            long trueValue = values[(int)Math.Max(1, Math.Ceiling(values.Length * percent / 100)) - 1];
            long found = histogram.PercentileNs(percent);
            Assert.True(
                found >= trueValue && found <= (trueValue * 1.01) + 1,
                $"seed {seed}, p{percent}: true {trueValue}, found {found}");
        }

        Assert.Equal(values[^1], histogram.MaxNs);
        Assert.Equal(values.Length, histogram.Count);
    }

    [Fact]
    public void GivenTwoHistograms_WhenOneTravelsIntoTheOther_ThenItIsAsIfAllWereRecordedThere()
    {
        var random = new Random(5);
        var all = new LatencyHistogram();
        LatencyHistogram[] halves = new[] { new LatencyHistogram(), new LatencyHistogram() };
        for (int i = 0; i < 10_000; i++)
        {
            long value = random.NextInt64(1, 1_000_000_000);
            all.Record(value);
            halves[i % 2].Record(value);
        }

        halves[0].Add(halves[1].ToCounts());

        Assert.Equal(all.ToCounts().Buckets, halves[0].ToCounts().Buckets);
        Assert.Equal(all.ToCounts().Counts, halves[0].ToCounts().Counts);
        Assert.Equal(all.MaxNs, halves[0].MaxNs);
    }

    [Fact]
    public void GivenDurationsOutsideTheRange_WhenRecorded_ThenTheyCountAtItsEnds()
    {
        var histogram = new LatencyHistogram();
        histogram.Record(-5);
        histogram.Record(long.MaxValue);

        Assert.Equal(0, histogram.PercentileNs(50));
        Assert.Equal(long.MaxValue, histogram.MaxNs);
        Assert.Equal(2, histogram.Count);
    }

    [Fact]
    public void GivenManyThreads_WhenTheyRecord_ThenNoneIsLost()
    {
        var histogram = new LatencyHistogram();
        Parallel.For(0, 4, thread =>
        {
            for (int i = 1; i <= 50_000; i++)
                histogram.Record((i * 4) + thread);
        });

        Assert.Equal(200_000, histogram.Count);
        Assert.Equal(200_003, histogram.MaxNs);
    }
}
