using static EQueue.Protocol.Tests.Records.Batches;

namespace EQueue.Protocol.Tests.Records;

public class TagBitsTests
{
    [Fact]
    public void GivenATag_WhenItsBitIsTaken_ThenItIsPositiveMurmur2Modulo31()
    {
        // murmur2("21") = -973932308; its sign bit cleared = 1173551340; modulo 31 = 26.
        Assert.Equal(1u << 26, TagBits.Of("21"u8));
    }

    [Fact]
    public void GivenManyTags_WhenTheirBitsAreTaken_ThenEachIsOneBitAndNeverTheUntaggedOne()
    {
        uint all = 0;
        for (int i = 0; i < 2_000; i++)
        {
            uint bit = TagBits.Of(System.Text.Encoding.UTF8.GetBytes($"tag-{i}"));
            Assert.Equal(1, System.Numerics.BitOperations.PopCount(bit));
            all |= bit;
        }

        Assert.Equal(~TagBits.Untagged, all);
    }

    [Fact]
    public void GivenABatch_WhenRecordsAreAppended_ThenItsBitsAreTheirUnion()
    {
        var builder = new RecordBatchBuilder();
        builder.Reset(new byte[1_000], BaseTimestampMs);
        Assert.Equal(0u, builder.TagBits);

        builder.TryAppend(new RecordContent { Tag = "paid"u8 }, BaseTimestampMs);
        Assert.Equal(TagBits.Of("paid"u8), builder.TagBits);
        builder.TryAppend(new RecordContent { Tag = "shipped"u8 }, BaseTimestampMs);
        Assert.Equal(TagBits.Of("paid"u8) | TagBits.Of("shipped"u8), builder.TagBits);
        builder.TryAppend("no tag"u8, BaseTimestampMs);
        Assert.Equal(TagBits.Of("paid"u8) | TagBits.Of("shipped"u8) | TagBits.Untagged, builder.TagBits);

        builder.Reset(new byte[1_000], BaseTimestampMs);
        Assert.Equal(0u, builder.TagBits);
        builder.TryAppend(new RecordContent { Key = "k"u8 }, BaseTimestampMs);
        Assert.Equal(TagBits.Untagged, builder.TagBits);
    }

    [Theory]
    [InlineData(0b0110u, 0b0100u, true)]
    [InlineData(0b0110u, 0b1000u, false)]
    [InlineData(TagBits.Untagged, 0b1u, false)]
    [InlineData(TagBits.Unknown, 0b1u, true)]
    [InlineData(0b1u, TagBits.Unknown, true)]
    [InlineData(0u, TagBits.Unknown, true)]
    [InlineData(0b1u, 0u, true)]
    [InlineData(0u, 0u, true)]
    [InlineData(0u, 0b1u, false)]
    public void GivenBitsAndAMask_WhenMatched_ThenOneSharedBitIsEnough(uint bits, uint mask, bool expected) =>
        Assert.Equal(expected, TagBits.MayMatch(bits, mask));
}
