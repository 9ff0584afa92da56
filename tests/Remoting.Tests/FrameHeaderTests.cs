namespace EQueue.Remoting.Tests;

public sealed class FrameHeaderTests
{
    private static readonly byte[] Golden =
    [
        0x34, 0x12, 0x00, 0x00, 0x2A, 0x03, 0x05, 0x00, 0xEF, 0xBE, 0xAD, 0xDE, 0x01, 0x02, 0x00, 0x00,
    ];

    private static readonly FrameHeader Header =
        new(0x1234, 0x2A, 3, FrameFlags.Response | FrameFlags.Throttled, 0xDEADBEEF, 0x0201);

    [Fact]
    public void GivenHeader_WhenWritten_ThenTheBytesAreTheGoldenOnes()
    {
        byte[] bytes = new byte[FrameHeader.Size];
        bytes.AsSpan().Fill(0xFF);
        Header.Write(bytes);
        Assert.Equal(Golden, bytes);
    }

    [Fact]
    public void GivenGoldenBytes_WhenRead_ThenTheHeaderIsThere()
    {
        Assert.True(FrameHeader.TryRead(Golden, 0x1234, out FrameHeader header, out FrameFault fault));
        Assert.Equal(Header, header);
        Assert.Equal(FrameFault.None, fault);
        Assert.Equal(0x1234 - 16, header.PayloadBytes);
    }

    [Theory]
    [InlineData(0u, FrameFault.TooShort)]
    [InlineData(15u, FrameFault.TooShort)]
    [InlineData(1025u, FrameFault.TooLong)]
    [InlineData(0x7FFFFFFFu, FrameFault.TooLong)]
    [InlineData(0x80000000u, FrameFault.TooLong)]
    [InlineData(0xFFFFFFFFu, FrameFault.TooLong)]
    public void GivenLengthOutOfRange_WhenOnlyItsFourBytesAreThere_ThenItIsRefused(uint length, FrameFault expected)
    {
        Assert.False(FrameHeader.TryRead(BitConverter.GetBytes(length), 1024, out FrameHeader header, out FrameFault fault));
        Assert.Equal(expected, fault);
        Assert.Equal(length, header.Length);
    }

    [Fact]
    public void GivenUnknownFlagOfTheHighByte_WhenRead_ThenItIsRefused()
    {
        byte[] bytes = [.. Golden];
        bytes[7] = 0x80;
        Assert.False(FrameHeader.TryRead(bytes, 0x1234, out _, out FrameFault fault));
        Assert.Equal(FrameFault.UnknownFlags, fault);
    }

    [Fact]
    public void GivenUnknownFlagOfTheLowByteAndReservedBytes_WhenRead_ThenTheyAreAccepted()
    {
        byte[] bytes = [.. Golden];
        bytes[6] |= 0x80;
        bytes[15] = 1;
        Assert.True(FrameHeader.TryRead(bytes, 0x1234, out _, out _));
    }

    [Fact]
    public void GivenEveryShorterPiece_WhenRead_ThenItIsIncomplete()
    {
        for (int bytes = 0; bytes < FrameHeader.Size; bytes++)
        {
            Assert.False(FrameHeader.TryRead(Golden.AsSpan(0, bytes), 0x1234, out _, out FrameFault fault));
            Assert.Equal(FrameFault.Incomplete, fault);
        }
    }
}
