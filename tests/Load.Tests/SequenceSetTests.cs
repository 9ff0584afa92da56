using EQueue.Load.Measuring;

namespace EQueue.Load.Tests;

public sealed class SequenceSetTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void GivenRandomSequences_WhenAdded_ThenTheSetAgreesWithAHashSet(int seed)
    {
        var random = new Random(seed);
        var expected = new HashSet<long>();
        var set = new SequenceSet();
        const int end = 3 << 20;
        for (int i = 0; i < 200_000; i++)
        {
            long sequence = random.NextInt64(end);
            Assert.Equal(expected.Add(sequence), set.Add(sequence));
        }

        Assert.Equal(expected.Count, set.Count);
        Assert.Equal(end - expected.Count, set.CountMissing(end));
        Assert.All(
            Enumerable.Range(0, 1000),
            sequence => Assert.Equal(expected.Contains(sequence), set.Contains(sequence)));
    }

    [Theory]
    [InlineData(4)]
    [InlineData(5)]
    [InlineData(6)]
    public void GivenRunsThatOverlap_WhenFollowed_ThenTheSetAgreesWithAHashSet(int seed)
    {
        var random = new Random(seed);
        var expected = new HashSet<long>();
        var set = new SequenceSet();
        long doubles = 0;
        const int end = 2 << 20;
        for (int i = 0; i < 2000; i++)
        {
            long start = random.Next(end);
            for (long sequence = start; sequence < Math.Min(end, start + random.Next(1, 700)); sequence++)
            {
                set.Follow(sequence);
                if (!expected.Add(sequence))
                    doubles++;
            }

            if (i % 10 != 0)
                continue;
            long single = random.NextInt64(end);
            Assert.Equal(expected.Add(single), set.Add(single));
        }

        Assert.Equal(expected.Count, set.Count);
        Assert.Equal(doubles, set.Doubles);
        Assert.Equal(end - expected.Count, set.CountMissing(end));
    }

    [Fact]
    public void GivenACompletePage_WhenASequenceOfItComesAgain_ThenItIsKnown()
    {
        var set = new SequenceSet();
        const int pageSize = 1 << 20;
        for (long sequence = 0; sequence < pageSize + 10; sequence++)
            Assert.True(set.Add(sequence));

        Assert.False(set.Add(0));
        Assert.False(set.Add(pageSize - 1));
        Assert.False(set.Add(pageSize + 9));
        Assert.True(set.Contains(77));
        Assert.Equal(0, set.CountMissing(pageSize + 10));
        Assert.Equal(5, set.CountMissing(pageSize + 15));
        Assert.Equal(pageSize + 10, set.Count);
    }

    [Fact]
    public void GivenTwoSets_WhenOneIsAddedToTheOther_ThenTheCommonSequencesAreCounted()
    {
        var left = new SequenceSet();
        var right = new SequenceSet();
        for (int sequence = 0; sequence < 1000; sequence++)
            Assert.True(left.Add(sequence));
        for (int sequence = 990; sequence < 2_000_000; sequence += 2)
            Assert.True(right.Add(sequence));

        Assert.Equal(5, left.Add(right));
        Assert.Equal(1000 + right.Count - 5, left.Count);
    }
}
