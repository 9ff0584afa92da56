using EQueue.Load.Measuring;

namespace EQueue.Load.Tests;

public sealed class BodyPoolTests
{
    [Theory]
    [InlineData(10)]
    [InlineData(15)]
    [InlineData(16)]
    [InlineData(23)]
    [InlineData(24)]
    [InlineData(1000)]
    public void GivenTheSameSeed_WhenBodiesAreCompared_ThenTheyMatchAndTheStampReadsBack(int size)
    {
        var sender = new BodyPool(3, 1, size, 5);
        var reader = new BodyComparer(3, size, 5);
        for (int sequence = 0; sequence < 12; sequence++)
        {
            var stamp = new BodyStamp(sequence, 1, 9);
            ReadOnlySpan<byte> body = sender.Next(stamp, 123_456).Span;
            Assert.Equal(stamp, BodyStamp.Read(body));
            Assert.Equal(size >= BodyStamp.SizeWithTimestamp ? 123_456 : 0, BodyStamp.ReadTimestamp(body));
            Assert.True(reader.Matches(stamp, body));
        }
    }

    [Fact]
    public void GivenAnotherSeedOrProducer_WhenBodiesAreCompared_ThenTheyDiffer()
    {
        ReadOnlySpan<byte> body = new BodyPool(3, 1, 64, 5).Next(new BodyStamp(0, 1, 9), 0).Span;

        Assert.True(new BodyComparer(3, 64, 5).Matches(new BodyStamp(0, 1, 9), body));
        Assert.False(new BodyComparer(4, 64, 5).Matches(new BodyStamp(0, 1, 9), body));
        Assert.False(new BodyComparer(3, 64, 5).Matches(new BodyStamp(0, 2, 9), body));
        Assert.False(new BodyComparer(3, 64, 5).Matches(new BodyStamp(1, 1, 9), body));
    }
}
