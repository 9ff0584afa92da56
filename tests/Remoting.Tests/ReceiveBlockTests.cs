namespace EQueue.Remoting.Tests;

public sealed class ReceiveBlockTests
{
    private static readonly FrameHeader Header = new(32, 1, 1, FrameFlags.Response, 1, 0);

    [Fact]
    public void GivenLeaseDisposedTwice_WhenAnotherIsOut_ThenTheBlockIsStillHeld()
    {
        ReceiveBlock block = ReceiveBlock.Rent(8000);
        ResponseFrame first = block.Lease(Header, 0, 16);
        ResponseFrame second = block.Lease(Header, 16, 16);
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
        ReceiveBlock block = ReceiveBlock.Rent(8000);
        ResponseFrame stale = block.Lease(Header, 0, 16);
        stale.Dispose();
        block.Restart();
        ResponseFrame current = block.Lease(Header, 0, 16);
        stale.Dispose();
        Assert.False(block.IsUnshared);
        current.Dispose();
        Assert.True(block.IsUnshared);
        block.Release();
    }

    [Fact]
    public void GivenMoreTinyFramesThanTickets_WhenLeased_ThenEachKeepsItsBytes()
    {
        ReceiveBlock block = ReceiveBlock.Rent(512);
        block.Array.AsSpan().Fill(5);
        var leases = new List<ResponseFrame>();
        for (int i = 0; i < 40; i++) leases.Add(block.Lease(Header, i, 1));
        Assert.All(leases, lease => Assert.Equal(5, lease.Payload.Span[0]));
        foreach (ResponseFrame lease in leases) lease.Dispose();
        Assert.True(block.IsUnshared);
        block.Release();
    }
}
