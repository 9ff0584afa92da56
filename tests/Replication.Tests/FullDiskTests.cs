using EQueue.Protocol;

namespace EQueue.Replication.Tests;

/// <summary>A leader whose disk is full, beside others that have room or not.</summary>
public sealed class FullDiskTests
{
    private static readonly Seat B = HandActions.B;
    private static readonly Seat C = HandActions.C;

    [Theory]
    [InlineData(false, false, true)]
    [InlineData(false, true, true)]
    [InlineData(true, true, false)]
    public void GivenALeaderWhoseDiskIsFull_WhenAnotherHasRoom_ThenThatOneIsToLead(bool isFullB, bool isFullC, bool resigns)
    {
        var replica = new HandActions();
        replica.Lead(B, C);
        replica.Log.IsFull = true;
        Beat(replica, 2900, isFullB, isFullC);
        Assert.True(replica.Core.IsOpen);
        Beat(replica, 500, isFullB, isFullC);
        Assert.Equal(resigns ? 1 : 0, replica.Resignations);
        Assert.Equal(!resigns, replica.Core.IsLeading);
    }

    [Fact]
    public void GivenAShortageThatPasses_WhenItComesAgain_ThenTheLeaderStays()
    {
        var replica = new HandActions();
        replica.Lead(B, C);
        for (int round = 0; round < 5; round++)
        {
            replica.Log.IsFull = true;
            Beat(replica, 2500, false, false);
            replica.Log.IsFull = false;
            Beat(replica, 100, false, false);
        }

        Assert.True(replica.Core.IsLeading);
    }

    /// <summary>The other one alone is not enough, and this disk takes what that one has for a while only.</summary>
    [Fact]
    public void GivenTwoSeats_WhenTheLeadersDiskIsFull_ThenItStays()
    {
        var replica = new HandActions();
        replica.Lead(B);
        replica.Log.IsFull = true;
        for (int i = 0; i < 60; i++)
        {
            replica.Fetch(B, replica.Log.Tail.End);
            replica.Pass(100);
        }

        Assert.True(replica.Core.IsLeading);
    }

    [Fact]
    public void GivenASeatThatIsSilent_WhenTheLeadersDiskIsFull_ThenTheLeaderStays()
    {
        var replica = new HandActions();
        replica.Lead(B, C);
        Beat(replica, 100, false, false);
        replica.Log.IsFull = true;
        for (int i = 0; i < 60; i++)
        {
            replica.Fetch(B, replica.Log.Tail.End);
            replica.Pass(100);
            if (replica.Transactions.Any(one => one.Kind == TransactionKind.SetChange))
                break;
        }

        // First the silent one is let out; then two are too few for one of them to go.
        Assert.Equal([replica.Me, B], replica.Transactions[^1].Next.Seats);
        Assert.True(replica.Core.IsLeading);
    }

    [Fact]
    public void GivenASeatThatHasJustFallenBehind_WhenTheLeadersDiskIsFull_ThenTheLeaderStaysForNow()
    {
        var replica = new HandActions();
        replica.Lead(B, C);
        Beat(replica, 100, false, false);
        replica.Log.IsFull = true;
        Beat(replica, 2200, false, false);
        LogPosition still = replica.Log.Tail.End;
        replica.Write(); // what was on its way
        for (int i = 0; i < 15; i++)
        {
            replica.Fetch(B, replica.Log.Tail.End);
            replica.Receive("c", new Ack(C, 1, replica.Core.Record.Epoch, still, still));
            replica.Pass(100);
        }

        Assert.True(replica.Core.IsLeading);
        Beat(replica, 1000, false, false);
        Assert.False(replica.Core.IsLeading);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void GivenALeaderThatIsGone_WhenTheDiskHereIsFull_ThenThisOneClaimsLater(bool isFull)
    {
        var replica = new HandActions();
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B, C], 2, HandActions.First)));
        replica.Log.IsFull = isFull;
        replica.Pass(1900);
        Assert.Equal(isFull ? 0 : 1, replica.Transactions.Count);
        replica.Pass(400);
        Assert.Equal(TransactionKind.Claim, Assert.Single(replica.Transactions.Distinct()).Kind);
    }

    [Fact]
    public void GivenAFullDisk_WhenAReplicaFetches_ThenItSaysSo()
    {
        var replica = new HandActions();
        replica.Log.IsFull = true;
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B, C], 2, HandActions.First)));
        Assert.True(replica.LastFetch.IsFull);
        replica.Log.IsFull = false;
        replica.Pass(1100);
        Assert.False(replica.LastFetch.IsFull);
    }

    /// <summary>The others are heard of, and have everything.</summary>
    private static void Beat(HandActions replica, int milliseconds, bool isFullB, bool isFullC)
    {
        for (int passed = 0; passed < milliseconds; passed += 100)
        {
            replica.Fetch(B, replica.Log.Tail.End, isFull: isFullB);
            replica.Fetch(C, replica.Log.Tail.End, isFull: isFullC);
            replica.Pass(100);
        }
    }
}
