using EQueue.Load.Measuring;

namespace EQueue.Load.Tests;

public sealed class BodyPoolTests
{
    [Theory]
    [InlineData(16)]
    [InlineData(23)]
    [InlineData(24)]
    [InlineData(1000)]
    public void GivenTheSameSeed_WhenBodiesAreCompared_ThenTheyMatchAndTheStampReadsBack(int size)
    {
        var sender = new BodyPool(3, 1, size, 5);
        var reader = new BodyPool(3, 1, size, 5);
        for (var sequence = 0; sequence < 12; sequence++)
        {
            var stamp = new BodyStamp(sequence, 1, 9);
            var body = sender.Next(stamp, 123_456).Span;
            Assert.Equal(stamp, BodyStamp.Read(body));
            Assert.Equal(size >= BodyStamp.SizeWithTimestamp ? 123_456 : 0, BodyStamp.ReadTimestamp(body));
            Assert.True(reader.Matches(sequence, body));
        }
    }

    [Fact]
    public void GivenAnotherSeedOrProducer_WhenBodiesAreCompared_ThenTheyDiffer()
    {
        var body = new BodyPool(3, 1, 64, 5).Next(new BodyStamp(0, 1, 9), 0).Span;

        Assert.False(new BodyPool(4, 1, 64, 5).Matches(0, body));
        Assert.False(new BodyPool(3, 2, 64, 5).Matches(0, body));
    }
}
