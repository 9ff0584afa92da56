using System.Text;

namespace EQueue.Protocol.Tests;

public class Murmur2Tests
{
    /// <summary>Known values of Kafka's Java client; the rest were computed with python3-kafka.</summary>
    [Theory]
    [InlineData("", 275646681)]
    [InlineData("21", -973932308)]
    [InlineData("abc", 479470107)]
    [InlineData("foobar", -790332482)]
    [InlineData("a-little-bit-long-string", -985981536)]
    [InlineData("a-little-bit-longer-string", -1486304829)]
    [InlineData("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971)]
    [InlineData("größer", -365361616)]
    [InlineData("客户-7", -1298338969)]
    public void GivenAKey_WhenHashed_ThenKafkasValueComesOut(string key, int expected) =>
        Assert.Equal(expected, Murmur2.Hash(Encoding.UTF8.GetBytes(key)));

    [Theory]
    [InlineData("21", 4)]
    [InlineData("foobar", 4)]
    [InlineData("abc", 1000)]
    [InlineData("a-little-bit-long-string", 7)]
    public void GivenAKey_WhenItsQueueIsPicked_ThenTheSignIsClearedNotNegated(string key, int queueCount)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(key);
        uint positive = (uint)Murmur2.Hash(bytes) % 0x8000_0000u;
        Assert.Equal((int)(positive % (uint)queueCount), Murmur2.QueueOf(bytes, queueCount));
    }

    [Theory]
    [InlineData("21", 0)]
    [InlineData("foobar", 6)]
    [InlineData("客户-7", 9)]
    public void GivenTenQueues_WhenAKeyIsPlaced_ThenItIsWhereKafkaPlacesIt(string key, int queue) =>
        Assert.Equal(queue, Murmur2.QueueOf(Encoding.UTF8.GetBytes(key), 10));

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    public void GivenNoQueues_WhenAKeyIsPlaced_ThenItIsRefused(int queueCount) =>
        Assert.Throws<ArgumentOutOfRangeException>(() => Murmur2.QueueOf("k"u8, queueCount));
}
