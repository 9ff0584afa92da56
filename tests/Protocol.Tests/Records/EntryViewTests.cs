namespace EQueue.Protocol.Tests.Records;

/// <summary>What a reader takes from the header of an entry.</summary>
public sealed class EntryViewTests
{
    /// <summary>An entry of 52 bytes: 48 of header, whose fields count up, and 4 of a batch.</summary>
    private const string Golden =
        "34000000" + "A1A2A3A4" + "0807060504030201" + "07000000" + "02000000" + "0102030405060708" + "01" + "30"
        + "0000" + "0F000000" + "10000000" + "00000000" + "AABBCCDD";

    [Fact]
    public void GivenGoldenBytes_WhenRead_ThenEachFieldIsWhereThePageSays()
    {
        Assert.True(EntryView.TryRead(Convert.FromHexString(Golden), out EntryView entry));
        Assert.Equal(
            new EntryView(52, new QueueId(7), 2, 0x0807060504030201, EntryView.MessagesKind, 48, 15), entry);
    }

    [Theory]
    [InlineData(0, 0x35, "it ends behind the bytes")]
    [InlineData(0, 0x2F, "it ends within its header")]
    [InlineData(3, 0x80, "its size is below zero")]
    [InlineData(33, 0x2F, "its header is too short")]
    [InlineData(33, 0x35, "its header ends behind it")]
    public void GivenSizesThatDoNotFit_WhenRead_ThenItIsRefused(int at, byte value, string reason)
    {
        byte[] entry = Convert.FromHexString(Golden);
        entry[at] = value;
        Assert.False(EntryView.TryRead(entry, out _), reason);
    }

    [Fact]
    public void GivenATornEntry_WhenRead_ThenItIsRefusedAtEveryLength()
    {
        byte[] entry = Convert.FromHexString(Golden);
        for (int length = 0; length < entry.Length; length++)
            Assert.False(EntryView.TryRead(entry.AsSpan(0, length), out _), $"{length} bytes");
    }
}
