using System.Collections.Immutable;
using EQueue.Protocol;

namespace EQueue.Replication.Tests;

/// <summary>Which seats are let out because they hold the others up, and when they come back.</summary>
public sealed class SeatLagTests
{
    private static readonly Seat B = HandActions.B;
    private static readonly Seat C = HandActions.C;

    [Fact]
    public void GivenASeatThatAnswersAndStandsStill_WhenThatIsTooLong_ThenItIsLetOutAndAPersonIsTold()
    {
        HandActions replica = Leading();
        LogPosition still = replica.Log.Tail.End;
        int passed = RunUntilChange(replica, still, 10_000);
        Assert.InRange(passed, 2400, 3000);
        Assert.Equal([replica.Me, C], replica.Transactions[^1].Next.Seats);
        Assert.Empty(replica.LetOuts);
        replica.Succeed();
        Assert.Equal(("b", false, 10_000), Assert.Single(replica.LetOuts));
        Assert.Empty(replica.Alarms);
    }

    [Fact]
    public void GivenASeatThatIsLetOut_WhenEtcdTellsItBeforeItsAnswer_ThenItIsChargedAllTheSame()
    {
        HandActions replica = Leading();
        RunUntilChange(replica, replica.Log.Tail.End, 10_000);
        Transaction change = replica.Transactions[^1];
        replica.Read(replica.View(change.Next, change.ExpectedRevision + 1, (change.Acted.Epoch, change.Acted.Nonce)));
        Assert.Equal(("b", false, 10_000), Assert.Single(replica.LetOuts));
        replica.Succeed();
        Assert.Single(replica.LetOuts);
        Assert.InRange(RunUntilChange(replica, still: null, 20_000), 9800, 10_200);
    }

    [Fact]
    public void GivenASeatThatIsAlwaysALittleBehind_WhenTheLoadGoesOn_ThenItStays()
    {
        HandActions replica = Leading();
        var ends = new Queue<LogPosition>();
        for (int i = 0; i < 300; i++)
        {
            replica.Write();
            ends.Enqueue(replica.Log.Tail.End);
            Ack(replica, C, replica.Log.Tail.End);
            if (ends.Count > 15)
                Ack(replica, B, ends.Dequeue());
            replica.Pass(100);
        }

        AssertNoChange(replica);
    }

    [Fact]
    public void GivenASeatThatIsFarBehindForEver_WhenTheLoadGoesOn_ThenItIsLetOut()
    {
        HandActions replica = Leading();
        var ends = new Queue<LogPosition>();
        int changes = replica.Transactions.Distinct().Count();
        for (int i = 0; i < 100 && replica.Transactions.Distinct().Count() == changes; i++)
        {
            replica.Write();
            ends.Enqueue(replica.Log.Tail.End);
            Ack(replica, C, replica.Log.Tail.End);
            // The longer it goes on, the further behind.
            if (i % 3 == 0)
                Ack(replica, B, ends.Dequeue());
            replica.Pass(100);
        }

        Assert.Equal([replica.Me, C], replica.Transactions[^1].Next.Seats);
    }

    [Fact]
    public void GivenAShortStallNowAndThen_WhenSummedUp_ThenItStays()
    {
        HandActions replica = Leading();
        for (int round = 0; round < 4; round++)
        {
            LogPosition still = replica.Log.Tail.End;
            for (int i = 0; i < 9; i++)
                Step(replica, still);
            for (int i = 0; i < 91; i++)
                Step(replica, null);
        }

        AssertNoChange(replica);
    }

    [Fact]
    public void GivenASeatThatWasLetOut_WhenItIsReadyAgain_ThenItWaitsLongerEachTime()
    {
        HandActions replica = Leading();
        foreach (int seconds in (int[])[10, 40, 160, 600, 600])
        {
            RunUntilChange(replica, replica.Log.Tail.End, 20_000);
            replica.Succeed();
            int back = RunUntilChange(replica, still: null, 700_000);
            Assert.InRange(back, (seconds * 1000) - 200, (seconds * 1000) + 200);
            Assert.Equal([replica.Me, C, B], replica.Transactions[^1].Next.Seats);
            replica.Succeed();
        }

        // In for long: nothing is owed any more.
        for (int i = 0; i < 6100; i++)
            Step(replica, null);
        RunUntilChange(replica, replica.Log.Tail.End, 20_000);
        replica.Succeed();
        Assert.InRange(RunUntilChange(replica, still: null, 700_000), 9800, 10_200);
    }

    [Fact]
    public void GivenASeatThatWasLetOut_WhenAnotherHoldsTheRestUp_ThenItComesBackAtOnce()
    {
        HandActions replica = Leading();
        RunUntilChange(replica, replica.Log.Tail.End, 10_000);
        replica.Succeed();
        Step(replica, null);
        int changes = replica.Transactions.Distinct().Count();
        int passed = 0;
        for (; passed < 5000 && replica.Transactions.Distinct().Count() == changes; passed += 100)
        {
            replica.Write();
            Ack(replica, B, replica.Log.Tail.End);
            replica.Pass(100);
        }

        Assert.InRange(passed, 400, 1000);
        Assert.Equal([replica.Me, C, B], replica.Transactions[^1].Next.Seats);
    }

    [Fact]
    public void GivenOneSilentSeatAndOneBehind_WhenOneAloneMayGo_ThenTheSilentOneGoes()
    {
        HandActions replica = Leading();
        LogPosition still = replica.Log.Tail.End;
        int changes = replica.Transactions.Distinct().Count();
        for (int i = 0; i < 50 && replica.Transactions.Distinct().Count() == changes; i++)
        {
            replica.Write();
            Ack(replica, B, still);
            replica.Pass(100);
        }

        Assert.Equal([replica.Me, B], replica.Transactions[^1].Next.Seats);
    }

    /// <summary>Both at once: etcd did not answer while the second one fell silent.</summary>
    [Fact]
    public void GivenOneBehindAndThenOneSilent_WhenOneAloneMayGo_ThenTheSilentOneGoes()
    {
        HandActions replica = Leading();
        LogPosition still = replica.Log.Tail.End;
        RunUntilChange(replica, still, 10_000);
        Assert.Equal([replica.Me, C], replica.Transactions[^1].Next.Seats);
        for (int i = 0; i < 25; i++)
        {
            replica.Write();
            Ack(replica, B, still);
            replica.Pass(100);
        }

        replica.Refuse();
        replica.Pass(20);
        Assert.Equal([replica.Me, B], replica.Transactions[^1].Next.Seats);
    }

    [Fact]
    public void GivenALeaderThatWasPaused_WhenItRunsAgain_ThenNobodyIsLetOutForThat()
    {
        HandActions replica = Leading();
        for (int round = 0; round < 5; round++)
        {
            replica.Write();
            replica.Freeze(5000);
            replica.Pass(100);
            Step(replica, null);
        }

        AssertNoChange(replica);
    }

    [Fact]
    public void GivenAFollowerThatWasPaused_WhenItRunsAgain_ThenItDoesNotSuspectTheLeaderForThat()
    {
        var replica = new HandActions();
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B, C], 2, HandActions.First)));
        replica.Pass(800);
        replica.Freeze(10_000);
        replica.Pass(400);
        Assert.DoesNotContain(replica.Sent, sent => sent.Message is StateQuestion);
        replica.Pass(400);
        Assert.Contains(replica.Sent, sent => sent.Message is StateQuestion);
    }

    [Fact]
    public void GivenALeaderThatHadToBeKeptInTheSet_WhenAThirdIsReady_ThenItGoesAtOnce()
    {
        var replica = new HandActions();
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B], 2, HandActions.First)));
        replica.Pass(4000);
        Assert.Equal([replica.Me, B], replica.Transactions[^1].Next.Seats);
        replica.Read(replica.View(
            replica.Transactions[^1].Next, 11, (4, replica.Transactions[^1].Next.Nonce), (3, HandActions.First)));
        replica.Sync();
        replica.Fetch(C, replica.Log.Tail.End);
        replica.Pass(20);
        replica.Succeed();
        replica.Pass(20);
        Assert.Equal([replica.Me, C], replica.Transactions[^1].Next.Seats);
    }

    [Theory]
    [InlineData(true, true)]
    [InlineData(false, false)]
    public void GivenALeaderWhoseDiskStandsStill_WhenTheOthersKeepUp_ThenItLetsAnotherLead(bool keepUp, bool resigns)
    {
        HandActions replica = Leading();
        LogPosition still = replica.Log.Tail.End;
        for (int i = 0; i < 50; i++)
        {
            replica.Write(durable: false);
            Ack(replica, B, keepUp ? replica.Log.Tail.End : still);
            Ack(replica, C, replica.Log.Tail.End);
            replica.Pass(100);
        }

        Assert.Equal(resigns ? 1 : 0, replica.Resignations);
        Assert.Equal(!resigns, replica.Core.IsLeading);
        // Where another disk is as slow, nobody is better off without it.
        AssertNoChange(replica);
        if (!resigns)
            return;
        replica.Fetch(B, still);
        Assert.Equal(FetchVerdict.OtherEpoch, replica.LastAnswer("b").Verdict);
    }

    [Fact]
    public void GivenDisksThatAreAllEquallySlow_WhenTheLoadGoesOn_ThenNobodyIsLetOutAndTheLeaderStays()
    {
        HandActions replica = Leading();
        for (int round = 0; round < 40; round++)
        {
            // A sync takes a second, here and there.
            LogPosition end = replica.Log.Tail.End;
            for (int i = 0; i < 10; i++)
            {
                replica.Write(durable: false);
                replica.Pass(100);
            }

            replica.Sync();
            Ack(replica, B, replica.Log.Tail.End);
            Ack(replica, C, replica.Log.Tail.End);
            Assert.True(end < replica.Log.Tail.End);
        }

        AssertNoChange(replica);
        Assert.Equal(0, replica.Resignations);
    }

    [Fact]
    public void GivenALeaderWithOneOtherSeat_WhenItsDiskStandsStill_ThenItGoesOn()
    {
        var replica = new HandActions();
        replica.Lead(B);
        replica.Fetch(B, replica.Log.Tail.End);
        for (int i = 0; i < 50; i++)
        {
            replica.Write(durable: false);
            Ack(replica, B, replica.Log.Tail.End);
            replica.Pass(100);
        }

        Assert.True(replica.Core.IsLeading);
    }

    [Fact]
    public void GivenAFollowerThatStopsInOrder_WhenItSaysSo_ThenTheSetShrinksAtOnceAndItsNextLifeOwesNothing()
    {
        HandActions replica = Leading();
        replica.Receive("b", new Farewell(new Seat("b", HandActions.OtherLife))); // of no life that is known
        replica.Pass(50);
        AssertNoChange(replica);
        replica.Receive("b", new Farewell(B));
        replica.Pass(50);
        Assert.Equal([replica.Me, C], replica.Transactions[^1].Next.Seats);
        replica.Succeed();
        Assert.Empty(replica.LetOuts);

        // What it had sent before is late.
        replica.Fetch(B, replica.Log.Tail.End);
        replica.Pass(50);
        Assert.Equal([replica.Me, C], replica.Transactions[^1].Next.Seats);
        var next = new Seat("b", HandActions.OtherLife);
        Transaction change = replica.Transactions[^1];
        ShardView view = replica.View(
            change.Next, change.ExpectedRevision + 1, (change.Acted.Epoch, change.Acted.Nonce));
        replica.Read(view with
        {
            Lives = view.Lives.ToImmutableDictionary().SetItem("b", next.Life),
        });
        replica.Fetch(next, replica.Log.Tail.End, session: 2);
        replica.Pass(50);
        Assert.Equal([replica.Me, C, next], replica.Transactions[^1].Next.Seats);
    }

    [Fact]
    public void GivenAFollower_WhenItStopsInOrder_ThenItTellsItsLeader()
    {
        var replica = new HandActions();
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B, C], 2, HandActions.First)));
        replica.Core.Leave();
        Assert.Equal(("b", new Farewell(replica.Me)), replica.Sent[^1]);
    }

    [Fact]
    public void GivenALeaderThatSaysItIsNone_WhenAFollowerHearsIt_ThenItAsksTheOthersAtOnce()
    {
        var replica = new HandActions();
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B, C], 2, HandActions.First)));
        replica.Receive("b", new FetchAnswer(replica.LastFetch.Session, 3, FetchVerdict.OtherEpoch, default));
        replica.Pass(100);
        Assert.Contains(replica.Sent, sent => sent.Message is StateQuestion);
    }

    private static HandActions Leading()
    {
        var replica = new HandActions();
        replica.Lead(B, C);
        replica.Fetch(B, replica.Log.Tail.End);
        replica.Fetch(C, replica.Log.Tail.End);
        Assert.True(replica.Core.IsOpen);
        return replica;
    }

    private static void Ack(HandActions replica, Seat seat, LogPosition position)
        => replica.Receive(seat.Node, new Ack(seat, 1, replica.Core.Record.Epoch, position, position));

    /// <summary>A tenth of a second: a message is written, C has it, B has it or stands still.</summary>
    private static void Step(HandActions replica, LogPosition? still)
    {
        replica.Write();
        Ack(replica, C, replica.Log.Tail.End);
        Ack(replica, B, still ?? replica.Log.Tail.End);
        replica.Pass(100);
    }

    private static int RunUntilChange(HandActions replica, LogPosition? still, int milliseconds)
    {
        int changes = replica.Transactions.Distinct().Count();
        for (int passed = 0; passed < milliseconds; passed += 100)
        {
            Step(replica, still);
            if (replica.Transactions.Distinct().Count() > changes)
                return passed + 100;
        }

        throw new InvalidOperationException("the set did not change");
    }

    private static void AssertNoChange(HandActions replica)
        => Assert.DoesNotContain(replica.Transactions, one => one.Kind == TransactionKind.SetChange);
}
