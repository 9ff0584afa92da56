namespace EQueue.Remoting.Tests;

public sealed class ReceiveBlockTests
{
    [Fact]
    public void GivenLeaseDisposedTwice_WhenAnotherIsOut_ThenTheBlockIsStillHeld()
    {
        var block = ReceiveBlock.Rent(8000);
        ResponseFrame first = LeaseAt(block, 0, 1);
        ResponseFrame second = LeaseAt(block, 17, 16);
        ResponseFrame copy = first;
        first.Dispose();
        copy.Dispose();
        first.Dispose();
        Assert.False(block.IsUnshared);
        second.Dispose();
        Assert.True(block.IsUnshared);
        block.Release();
    }

    [Fact]
    public void GivenStaleLease_WhenTheBlockServesAnotherReader_ThenDisposingItTakesNothingAway()
    {
        var block = ReceiveBlock.Rent(8000);
        ResponseFrame stale = LeaseAt(block, 0, 16);
        stale.Dispose();
        block.Restart();
        ResponseFrame current = LeaseAt(block, 0, 16);
        stale.Dispose();
        Assert.False(block.IsUnshared);
        current.Dispose();
        Assert.True(block.IsUnshared);
        block.Release();
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(15)]
    public void GivenABlockFullOfTheSmallestFrames_WhenLeased_ThenEachIsItselfAndEndsOnce(int payloadBytes)
    {
        var block = ReceiveBlock.Rent(512);
        var leases = new List<ResponseFrame>();
        int frameBytes = FrameHeader.Size + payloadBytes;
        for (int at = 0; at + frameBytes <= block.Array.Length; at += frameBytes)
            leases.Add(LeaseAt(block, at, payloadBytes));
        for (int i = 0; i < leases.Count; i++)
        {
            Assert.Equal((uint)i * (uint)frameBytes, leases[i].Header.CorrelationId);
            Assert.Equal(payloadBytes, leases[i].Payload.Length);
            Assert.All(leases[i].Payload.ToArray(), value => Assert.Equal((byte)(i * frameBytes), value));
        }

        foreach (ResponseFrame lease in leases.SkipLast(1).Concat(leases.SkipLast(1)))
            lease.Dispose();
        Assert.False(block.IsUnshared);
        leases[^1].Dispose();
        Assert.True(block.IsUnshared);
        block.Release();
    }

    [Fact]
    public void GivenNoFrame_WhenAsked_ThenItIsEmptyAndDisposingItDoesNothing()
    {
        ResponseFrame none = default;
        Assert.Equal(default, none.Header);
        Assert.True(none.Payload.IsEmpty);
        none.Dispose();
    }

    /// <summary>Puts a frame whose correlation id is its place into the block.</summary>
    private static ResponseFrame LeaseAt(ReceiveBlock block, int at, int payloadBytes)
    {
        Span<byte> frame = block.Array.AsSpan(at, FrameHeader.Size + payloadBytes);
        frame.Fill((byte)at);
        new FrameHeader((uint)frame.Length, 1, 1, FrameFlags.Response, (uint)at, 0).Write(frame);
        return block.Lease(at);
    }
}
