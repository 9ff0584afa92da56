using EQueue.Protocol;

namespace EQueue.Replication.Tests;

/// <summary>Each rule of docs/replication.md, one replica at a time.</summary>
public sealed class RuleTests
{
    private static readonly Seat B = HandActions.B;
    private static readonly Seat C = HandActions.C;

    [Fact]
    public void GivenAClaimWithoutAnAnswer_WhenItIsUnknown_ThenNothingIsLedAndItIsRepeated()
    {
        var replica = new HandActions();
        replica.Read(replica.View(new ShardState(0, default, [replica.Me], 1, default)));
        replica.Pass(1000);
        int sent = replica.Transactions.Count;
        replica.LoseAnswer();
        Assert.False(replica.Core.IsLeading);
        replica.Pass(600);
        Assert.Same(replica.Transactions[0], replica.Transactions[^1]);
        Assert.True(replica.Transactions.Count > sent);
        replica.Succeed();
        Assert.True(replica.Core.IsLeading);
    }

    [Fact]
    public void GivenAnEpochThatAPersonMadeWithoutALeader_WhenItsOnlySeatSeesIt_ThenItClaimsTheNextOneAlone()
    {
        var replica = new HandActions(fill: log => log.Stage(3, 5, 1));
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B], 2, HandActions.First), 10, (3, HandActions.First)));
        var made = new Nonce(44);
        var state = new ShardState(4, default, [replica.Me], 1, made);
        replica.Read(replica.View(state, 11, (3, HandActions.First), (4, made)));
        Assert.DoesNotContain(replica.Sent, sent => sent.Node is null);

        replica.Pass(1000);

        Transaction claim = replica.Transactions[^1];
        Assert.Equal((5, 1), (claim.Next.Epoch, claim.Next.Min));
        Assert.Equal([replica.Me], claim.Next.Seats);
        Assert.Equal(4, claim.Acted.Epoch);
        Assert.DoesNotContain(replica.Sent, sent => sent.Node is null);
    }

    [Fact]
    public void GivenNoSeat_WhenTheLeaderIsSilent_ThenNothingIsClaimed()
    {
        var replica = new HandActions();
        replica.Read(replica.View(new ShardState(3, B, [B, C], 2, HandActions.First)));
        replica.Pass(20_000);
        Assert.Empty(replica.Transactions);
    }

    [Fact]
    public void GivenASilentLeader_WhenClaimed_ThenTheEpochIsAboveAllThatWasHeardAndItsSeatIsOut()
    {
        var replica = new HandActions(fill: log => log.Stage(3, 5, 1));
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B, C], 2, HandActions.First)));
        replica.Receive("c", new EpochNotice(8));
        replica.Pass(4000);
        Transaction claim = Assert.Single(replica.Transactions.Distinct());
        Assert.Equal(9, claim.Next.Epoch);
        Assert.Equal([replica.Me, C], claim.Next.Seats);
        Assert.Equal(10, claim.ExpectedRevision);
    }

    [Fact]
    public void GivenAnEntryOfAnEpochAboveTheState_WhenClaimed_ThenTheEpochIsAboveThatToo()
    {
        var replica = new HandActions(fill: log => log.Stage(7, 5, 1));
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B, C], 2, HandActions.First)));
        replica.Pass(4000);
        Assert.Equal(8, Assert.Single(replica.Transactions.Distinct()).Next.Epoch);
    }

    /// <summary>What was committed beyond the end may be gone here: nobody else may be held against it.</summary>
    [Theory]
    [InlineData(50, 20)]
    [InlineData(15, 15)]
    public void GivenALogThatEndsBelowWhatWasCommitted_WhenALifeBegins_ThenNoMoreThanItsEndIsKnownAsCommitted(
        int committed, int expected)
    {
        var before = new ReplicaRecord(
            new Life(9), [], true, 1, HandActions.First, default, new LogPosition(committed));
        var replica = new HandActions(before: before, fill: log => log.Stage(1, 20, 1));
        Assert.Equal(new LogPosition(expected), replica.Core.Record.Committed);
    }

    [Fact]
    public void GivenTooFewSeatsWithoutTheOldLeader_WhenClaimed_ThenTheSetStays()
    {
        var replica = new HandActions();
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B], 2, HandActions.First)));
        replica.Pass(4000);
        Assert.Equal([replica.Me, B], replica.Transactions[0].Next.Seats);
    }

    [Fact]
    public void GivenANodeThatHearsTheLeader_WhenOneIsSuspicious_ThenItGivesWay()
    {
        var replica = new HandActions();
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B, C], 2, HandActions.First)));
        for (int i = 0; i < 300; i++)
        {
            replica.Pass(50);
            if (replica.Sent.FindLast(sent => sent.Message is StateQuestion).Message is StateQuestion question)
                replica.Receive("c", new StateReport(C, question.Round, 3, default, [], default, HearsLeader: true));
        }

        Assert.Empty(replica.Transactions);
    }

    [Fact]
    public void GivenAStartThatIsNotDurable_WhenAFollowerAsks_ThenItIsAnsweredOnlyAfterwards()
    {
        var replica = new HandActions();
        replica.Read(replica.View(new ShardState(0, default, [replica.Me, B], 2, default)));
        replica.Pass(1000);
        replica.Succeed();
        replica.Fetch(B, default, tail: default(LogTail));
        Assert.DoesNotContain(replica.Sent, sent => sent.Message is FetchAnswer);
        replica.Sync();
        Assert.Equal(FetchVerdict.Matched, replica.LastAnswer("b").Verdict);
        Assert.NotNull(replica.LastAnswer("b").Entries);
    }

    [Fact]
    public void GivenAFollowerOfAnotherEpoch_WhenItAsks_ThenItIsToldTheEpochAndNothingCounts()
    {
        var replica = new HandActions();
        replica.Lead(B);
        replica.Fetch(B, replica.Log.Tail.End, epoch: 0);
        Assert.Equal(FetchVerdict.OtherEpoch, replica.LastAnswer("b").Verdict);
        Assert.False(replica.Core.IsOpen);
        replica.Fetch(B, replica.Log.Tail.End);
        Assert.True(replica.Core.IsOpen);
    }

    [Fact]
    public void GivenATailThatTheLeaderDoesNotHave_WhenAsked_ThenTheEndOfItsEpochHereIsNamed()
    {
        var replica = new HandActions(fill: log =>
        {
            log.Stage(1, 10, 1);
            log.Stage(1, 10, 2);
        });
        replica.Lead(B);
        replica.Fetch(B, new LogPosition(40), tail: new LogTail(new LogPosition(40), 1, new LogPosition(30), 9));
        FetchAnswer answer = replica.LastAnswer("b");
        Assert.Equal((FetchVerdict.Diverging, 1, new LogPosition(20)), (answer.Verdict, answer.DivergingEpoch, answer.DivergingEnd));
        Assert.False(replica.Core.IsOpen);
    }

    [Fact]
    public void GivenAnotherEntryUnderOneEpochAndPosition_WhenAsked_ThenItIsAMismatch()
    {
        var replica = new HandActions(fill: log => log.Stage(1, 10, 1));
        replica.Lead(B);
        replica.Fetch(B, new LogPosition(10), tail: new LogTail(new LogPosition(10), 1, default, 99));
        Assert.Equal(FetchVerdict.Mismatch, replica.LastAnswer("b").Verdict);
    }

    [Fact]
    public void GivenATailBeyondTheOnlyLeadersEnd_WhenAsked_ThenItIsNotBelieved()
    {
        var replica = new HandActions();
        replica.Lead(B);
        var beyond = new LogTail(new LogPosition(50), replica.Core.Record.Epoch, new LogPosition(40), 3);
        replica.Fetch(B, beyond.End, tail: beyond);
        Assert.NotEmpty(replica.Alarms);
        Assert.False(replica.Core.IsOpen);
    }

    [Fact]
    public void GivenAMatchedFollower_WhenItAcknowledgesBeyondTheLeadersEnd_ThenItIsNotBelievedUntilItMatchesAgain()
    {
        var replica = new HandActions();
        replica.Lead(B);
        replica.Fetch(B, replica.Log.Tail.End);
        Assert.True(replica.Core.IsOpen);
        LogPosition committed = replica.Published[^1].Committed;
        LogPosition beyond = new(replica.Log.Tail.End.Value + 100);

        replica.Receive("b", new Ack(B, 1, replica.Core.Record.Epoch, beyond, beyond));
        replica.Write();
        replica.Receive("b", new Ack(B, 1, replica.Core.Record.Epoch, replica.Log.Tail.End, replica.Log.Tail.End));
        Assert.Single(replica.Alarms);
        Assert.Equal(committed, replica.Published[^1].Committed);

        replica.Fetch(B, replica.Log.Tail.End, session: 2);
        Assert.Equal(replica.Log.Tail.End, replica.Published[^1].Committed);
    }

    [Theory]
    [InlineData(1, 15, 10)]
    [InlineData(1, 5, 5)]
    [InlineData(2, 40, 25)]
    public void GivenDivergingLogs_WhenTold_ThenTheFollowerCutsToWhatBothCanHave(int epoch, int end, int expected)
    {
        HandActions replica = Following(committed: 3);
        replica.Receive("b", new FetchAnswer(
            replica.LastFetch.Session, 3, FetchVerdict.Diverging, default, epoch, new LogPosition(end)));
        Assert.Equal([new LogPosition(expected)], replica.Cuts);
        Assert.Equal(new LogPosition(expected), replica.LastFetch.Tail.End);
    }

    /// <summary>The named epoch is not here: where it ends there, an entry of another one may stand here.</summary>
    [Fact]
    public void GivenTheEndOfAnEpochThatIsNotHere_WhenTold_ThenTheFollowerCutsTheEpochsBehindItAndAsksAgain()
    {
        var replica = new HandActions(fill: log =>
        {
            log.Stage(1, 10, 1);
            log.Stage(1, 15, 2);
            log.Stage(3, 5, 3);
        });
        replica.Read(replica.View(new ShardState(4, B, [replica.Me, B], 2, HandActions.First)));
        replica.Receive("b", new FetchAnswer(
            replica.LastFetch.Session, 4, FetchVerdict.Diverging, default, 2, new LogPosition(12)));
        Assert.Equal([new LogPosition(25)], replica.Cuts);
        Assert.Equal(1, replica.LastFetch.Tail.Epoch);
        replica.Receive("b", new FetchAnswer(
            replica.LastFetch.Session, 4, FetchVerdict.Diverging, default, 1, new LogPosition(10)));
        Assert.Equal([new LogPosition(25), new LogPosition(10)], replica.Cuts);
    }

    [Fact]
    public void GivenALeaderThatAsksToGoBelowWhatIsCommitted_WhenTold_ThenNothingIsCutAndAllIsSetAside()
    {
        HandActions replica = Following(committed: 12);
        replica.Receive("b", new FetchAnswer(
            replica.LastFetch.Session, 3, FetchVerdict.Diverging, default, 1, new LogPosition(10)));
        Assert.Empty(replica.Cuts);
        Assert.Equal(StopReason.SetAside, replica.Stopped);
    }

    [Fact]
    public void GivenAnAnswerOfAnotherEpoch_WhenItAsksForACut_ThenNothingIsCut()
    {
        HandActions replica = Following(committed: 3);
        replica.Receive("b", new FetchAnswer(
            replica.LastFetch.Session, 2, FetchVerdict.Diverging, default, 1, new LogPosition(10)));
        Assert.Empty(replica.Cuts);
    }

    [Fact]
    public void GivenTwoSeats_WhenOneHasNotAnswered_ThenNothingIsCommittedAndTheShardIsNotOpen()
    {
        var replica = new HandActions();
        replica.Lead(B, C);
        replica.Fetch(B, replica.Log.Tail.End);
        Assert.False(replica.Core.IsOpen);
        replica.Fetch(C, replica.Log.Tail.End);
        Assert.True(replica.Core.IsOpen);
        LogPosition opened = replica.Log.Tail.End;
        replica.Write();
        replica.Receive("b", new Ack(B, 1, replica.Core.Record.Epoch, replica.Log.Tail.End, replica.Log.Tail.End));
        Assert.Equal((opened, true), replica.Published[^1]);
        replica.Receive("c", new Ack(C, 1, replica.Core.Record.Epoch, replica.Log.Tail.End, replica.Log.Tail.End));
        Assert.Equal((replica.Log.Tail.End, true), replica.Published[^1]);
    }

    [Fact]
    public void GivenSyncFlush_WhenTheLeadersOwnDiskIsBehind_ThenItCountsAsAnySeat()
    {
        var replica = new HandActions();
        replica.Lead(B);
        replica.Fetch(B, replica.Log.Tail.End);
        LogPosition opened = replica.Published[^1].Committed;
        replica.Write(durable: false);
        replica.Receive("b", new Ack(B, 1, replica.Core.Record.Epoch, replica.Log.Tail.End, replica.Log.Tail.End));
        Assert.Equal(opened, replica.Published[^1].Committed);
        replica.Sync();
        Assert.Equal(replica.Log.Tail.End, replica.Published[^1].Committed);
    }

    [Fact]
    public void GivenASetChangeOfUnknownOutcome_WhenEntriesAreWritten_ThenBothSetsMustHaveThem()
    {
        var replica = new HandActions();
        replica.Lead();
        Assert.True(replica.Core.IsOpen);
        replica.Fetch(B, replica.Log.Tail.End);
        replica.Pass(20);
        Assert.Equal([replica.Me, B], replica.Transactions[^1].Next.Seats);
        Assert.Equal(2, replica.Transactions[^1].Next.Min);
        replica.LoseAnswer();
        LogPosition before = replica.Published[^1].Committed;
        replica.Write();
        Assert.Equal(before, replica.Published[^1].Committed);
        replica.Receive("b", new Ack(B, 1, replica.Core.Record.Epoch, replica.Log.Tail.End, replica.Log.Tail.End));
        Assert.Equal(replica.Log.Tail.End, replica.Published[^1].Committed);
    }

    [Fact]
    public void GivenAReplicaBehindWhatIsCommitted_WhenItIsMatched_ThenItGetsNoSeatYet()
    {
        var replica = new HandActions();
        replica.Lead();
        replica.Write();
        replica.Fetch(B, new LogPosition(1), tail: new LogTail(new LogPosition(1), 1, default, 1));
        replica.Pass(50);
        Assert.Single(replica.Transactions.Distinct());
        replica.Receive("b", new Ack(B, 1, 1, replica.Log.Tail.End, replica.Log.Tail.End));
        replica.Pass(20);
        Assert.Equal([replica.Me, B], replica.Transactions[^1].Next.Seats);
    }

    [Fact]
    public void GivenAShardThatIsNotOpen_WhenAReplicaHasAllToTheStart_ThenItGetsASeatAndTheSilentOneGoes()
    {
        var replica = new HandActions();
        replica.Lead(B);
        Assert.False(replica.Core.IsOpen);
        replica.Fetch(C, replica.Log.Tail.End);
        replica.Pass(20);
        Assert.Equal([replica.Me, B, C], replica.Transactions[^1].Next.Seats);
        replica.Succeed();
        for (int i = 0; i < 6; i++)
        {
            replica.Pass(500);
            replica.Fetch(C, replica.Log.Tail.End);
        }

        Assert.Equal([replica.Me, C], replica.Transactions[^1].Next.Seats);
        replica.Succeed();
        Assert.True(replica.Core.IsOpen);
    }

    [Fact]
    public void GivenTheLeastNumberOfSeats_WhenOneIsSilent_ThenItStays()
    {
        var replica = new HandActions();
        replica.Lead(B);
        replica.Pass(10_000);
        Assert.Single(replica.Transactions.Distinct());
    }

    [Theory]
    [InlineData(true, true, false, true)]
    [InlineData(true, false, false, false)]
    [InlineData(false, true, false, false)]
    [InlineData(false, true, true, true)]
    public void GivenTheSeatOfAFormerLife_WhenTheDirectoryProvesIt_ThenOnlyThenItIsTakenOver(
        bool isSync, bool isWhole, bool isClean, bool expected)
    {
        var before = new ReplicaRecord(new Life(9), [], isSync, 3, HandActions.First, default, default);
        var replica = new HandActions(isSync, before, isClean, isWhole);
        replica.Read(replica.View(
            new ShardState(3, B, [new Seat("a", new Life(9)), B, C], 2, HandActions.First), 10, (3, HandActions.First)));
        replica.Pass(100);
        Assert.Equal(expected, replica.Transactions.Any(one => one.Kind == TransactionKind.TakeOver));
        if (expected)
            Assert.Equal([replica.Me, B, C], replica.Transactions[0].Next.Seats);
    }

    [Fact]
    public void GivenTheSeatOfALifeThatTheDirectoryDoesNotKnow_WhenStarted_ThenItIsNotTakenOver()
    {
        var before = new ReplicaRecord(new Life(9), [new Life(8)], true, 3, HandActions.First, default, default);
        var replica = new HandActions(before: before);
        replica.Read(replica.View(
            new ShardState(3, B, [new Seat("a", new Life(7)), B, C], 2, HandActions.First), 10, (3, HandActions.First)));
        replica.Pass(10_000);
        Assert.Empty(replica.Transactions);
    }

    [Theory]
    [InlineData(5, 2, true)]
    [InlineData(5, 3, false)]
    [InlineData(15, 2, false)]
    public void GivenDeadSeats_WhenAllHaveReported_ThenTheLongestOfTheNewestEpochLeads(int end, int epoch, bool wins)
    {
        HandActions replica = Dead();
        for (int i = 0; i < 20; i++)
        {
            replica.Pass(50);
            if (replica.Sent.FindLast(sent => sent.Message is StateQuestion).Message is not StateQuestion question)
                continue;
            var tail = new LogTail(new LogPosition(end), epoch, default, 4);
            replica.Receive("b", new StateReport(B, question.Round, 3, tail, [new Life(72)], default, false));
        }

        Assert.Equal(wins, replica.Transactions.Count > 0);
        if (wins)
            Assert.Equal([replica.Me], replica.Transactions[0].Next.Seats);
    }

    [Theory]
    [InlineData(false, 72)]
    [InlineData(true, 73)]
    public void GivenADeadSeatThatHasNotReportedFromItsDirectory_WhenWaiting_ThenNobodyIsElected(bool reports, int life)
    {
        HandActions replica = Dead();
        for (int i = 0; i < 20; i++)
        {
            replica.Pass(50);
            if (!reports
                || replica.Sent.FindLast(sent => sent.Message is StateQuestion).Message is not StateQuestion question)
            {
                continue;
            }

            replica.Receive("b", new StateReport(B, question.Round, 3, default, [new Life((UInt128)life)], default, false));
        }

        Assert.Empty(replica.Transactions);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void GivenANewEpoch_WhenEtcdDoesNotKnowTheLastOneAsThisReplicaDoes_ThenItEnds(bool isMissing)
    {
        HandActions replica = Following(committed: 0);
        (int, Nonce)[] history = isMissing ? [(4, new Nonce(5))] : [(3, new Nonce(99)), (4, new Nonce(5))];
        replica.Read(replica.View(new ShardState(4, C, [B, C], 2, new Nonce(5)), 20, history));
        Assert.Equal(StopReason.ForeignHistory, replica.Stopped);
        Assert.Equal(3, replica.Core.Record.Epoch);
    }

    [Fact]
    public void GivenReadsBehindTheEpochActedOn_WhenNoneIsTrueBetween_ThenItIsToldOnceThatEtcdWasRestored()
    {
        HandActions replica = Following(committed: 0);
        ShardView now = replica.Core.View!;
        ShardView older = replica.View(new ShardState(2, B, [B, C], 2, new Nonce(2)), 5, (2, new Nonce(2)));
        for (int i = 0; i < 30; i++)
            replica.Read(i % 10 == 9 ? now : older);
        Assert.Empty(replica.Alarms);
        for (int i = 0; i < 30; i++)
            replica.Read(older);
        Assert.Contains("restored", Assert.Single(replica.Alarms), StringComparison.Ordinal);
        Assert.Null(replica.Stopped);
    }

    [Fact]
    public void GivenTheSameEpochWithAnotherBeginning_WhenRead_ThenTheReplicaEnds()
    {
        HandActions replica = Following(committed: 0);
        replica.Read(replica.View(new ShardState(3, C, [B, C], 2, new Nonce(5)), 20, (3, new Nonce(5))));
        Assert.Equal(StopReason.ForeignHistory, replica.Stopped);
    }

    [Fact]
    public void GivenASeatThatFallsBackWithinAnEpoch_WhenItAnswers_ThenItCountsAgainOnlyWhenItIsThereAgain()
    {
        var replica = new HandActions();
        replica.Lead(B);
        replica.Write();
        replica.Write();
        replica.Fetch(B, replica.Log.Tail.End);
        LogPosition former = replica.Log.Tail.End;
        LogTail earlier = new(new LogPosition(1), 1, default, 1);
        replica.Fetch(B, earlier.End, session: 2, tail: earlier);
        Assert.NotEmpty(replica.Alarms);
        replica.Write();
        LogPosition committed = replica.Published[^1].Committed;
        replica.Receive("b", new Ack(B, 2, 1, new LogPosition(3), new LogPosition(3)));
        Assert.Equal(committed, replica.Published[^1].Committed);
        replica.Receive("b", new Ack(B, 2, 1, former, former));
        replica.Receive("b", new Ack(B, 2, 1, replica.Log.Tail.End, replica.Log.Tail.End));
        Assert.Equal(replica.Log.Tail.End, replica.Published[^1].Committed);
    }

    [Fact]
    public void GivenALeaderThatOpensItsLog_WhenItIsFetchedFrom_ThenItSaysSoInTimeAndCountsNothing()
    {
        var replica = new HandActions { OpensSlowly = true };
        replica.Lead(B);
        replica.Fetch(B, replica.Log.Tail.End);
        Assert.DoesNotContain(replica.Sent, sent => sent.Message is FetchAnswer);
        replica.Pass(600);
        Assert.Equal(FetchVerdict.Opening, replica.LastAnswer("b").Verdict);
        replica.FinishOpening();
        replica.Sync();
        Assert.False(replica.Core.IsOpen);
        replica.Fetch(B, replica.Log.Tail.End);
        Assert.True(replica.Core.IsOpen);
    }

    [Fact]
    public void GivenALeaderThatOpensForTooLong_WhenItIsFetchedFrom_ThenItKeepsNobodyWaiting()
    {
        var replica = new HandActions { OpensSlowly = true };
        replica.Lead(B);
        replica.Pass(31_000);
        replica.Sent.Clear();
        replica.Fetch(B, replica.Log.Tail.End);
        replica.Pass(1000);
        Assert.DoesNotContain(replica.Sent, sent => sent.Message is FetchAnswer);
    }

    [Fact]
    public void GivenALeaderThatOpens_WhenANewEpochIsRead_ThenTheOldOneNeverBegins()
    {
        var replica = new HandActions { OpensSlowly = true };
        replica.Lead(B);
        EpochMark led = new(replica.Core.Record.Epoch, replica.Core.Record.Nonce);
        var next = new ShardState(led.Epoch + 1, B, [B, replica.Me], 2, HandActions.First);
        replica.Read(replica.View(next, 20, (led.Epoch, led.Nonce), (next.Epoch, next.Nonce)));
        replica.Core.OnEpochStarted(led.Epoch, new LogPosition(50), 5000);
        Assert.False(replica.Core.IsLeading);
        Assert.Empty(replica.Published);
    }

    [Fact]
    public void GivenADeposedLeader_WhenItsLogIsNotOpenAgain_ThenItAsksAndReportsNothing()
    {
        var replica = new HandActions();
        replica.Lead(B);
        replica.OpensSlowly = true;
        EpochMark led = new(replica.Core.Record.Epoch, replica.Core.Record.Nonce);
        var next = new ShardState(led.Epoch + 1, B, [B, replica.Me], 2, HandActions.First);
        replica.Sent.Clear();
        replica.Read(replica.View(next, 20, (led.Epoch, led.Nonce), (next.Epoch, next.Nonce)));
        replica.Receive("b", new StateQuestion(B, 1));
        replica.Pass(5000);
        Assert.Empty(replica.Sent);
        replica.FinishClosing();
        Assert.Equal(next.Epoch, replica.LastFetch.Epoch);
    }

    [Fact]
    public void GivenALeaderWithoutTheEntriesAtTheEnd_WhenItSaysSo_ThenThisLifeEndsToBeCopied()
    {
        HandActions replica = Following(committed: 3);
        replica.Receive("b", new FetchAnswer(
            replica.LastFetch.Session, 3, FetchVerdict.Gone, new LogPosition(90)));
        Assert.Equal(StopReason.Gone, replica.Stopped);
    }

    [Fact]
    public void GivenAFollowerWhoseEndTheLeaderHasPacked_WhenItFetches_ThenItIsToldThatItsEntriesAreGone()
    {
        var replica = new HandActions(fill: log => log.Stage(1, 5, 1));
        LogTail packed = replica.Log.Tail;
        replica.Lead(B);
        replica.Log.Packed = new LogPosition(5);
        replica.Fetch(B, packed.End, tail: packed);
        Assert.Equal(FetchVerdict.Gone, replica.LastAnswer("b").Verdict);
        Assert.False(replica.Core.IsOpen);
    }

    [Fact]
    public void GivenAFollowerThatWasCopiedByFiles_WhenItFetches_ThenItMatchesBelowWhatIsCommittedAlone()
    {
        var replica = new HandActions(fill: log => log.Stage(1, 5, 1));
        replica.Lead();
        LogPosition committed = replica.Published[^1].Committed;
        replica.Write(durable: false);
        replica.Fetch(B, committed, session: 1, tail: new LogTail(committed, 0, default, 0));
        Assert.Equal(FetchVerdict.Matched, replica.LastAnswer("b").Verdict);
        replica.Fetch(B, default, session: 2, tail: new LogTail(new LogPosition(committed.Value + 1), 0, default, 0));
        Assert.NotEqual(FetchVerdict.Matched, replica.LastAnswer("b").Verdict);
    }

    [Fact]
    public void GivenALeaderThatRefusesConnections_WhenThatIsTold_ThenItIsSuspectedAtOnce()
    {
        var replica = new HandActions();
        replica.Read(replica.View(new ShardState(3, B, [replica.Me, B, C], 2, HandActions.First)));
        replica.Core.OnUnreachable("c", 0);
        replica.Pass(400);
        Assert.Empty(replica.Transactions);
        replica.Core.OnUnreachable("b", 400);
        replica.Pass(400);
        Assert.Equal(TransactionKind.Claim, Assert.Single(replica.Transactions.Distinct()).Kind);
    }

    [Fact]
    public void GivenAsyncFlush_WhenSeatsHaveLessOnTheirDisks_ThenThatIsToldBesideWhatIsCommitted()
    {
        var replica = new HandActions(isSync: false);
        replica.Lead(B);
        LogPosition begun = replica.Log.Tail.End;
        replica.Receive("b", new Fetch(B, 1, replica.Core.Record.Epoch, replica.Log.Tail, begun, default));
        Assert.Equal((begun, default), (replica.Published[^1].Committed, replica.PublishedDurable));
        replica.Receive("b", new Ack(B, 1, replica.Core.Record.Epoch, begun, begun));
        Assert.Equal((begun, begun), (replica.Published[^1].Committed, replica.PublishedDurable));
    }

    /// <summary>A follower of b in epoch 3 with entries of epochs 1 (to 10), 2 (to 25) and 3 (to 30).</summary>
    private static HandActions Following(int committed)
    {
        var record = new ReplicaRecord(
            new Life(9), [], true, 3, HandActions.First, default, new LogPosition(committed));
        var replica = new HandActions(before: record, fill: log =>
        {
            log.Stage(1, 5, 1);
            log.Stage(1, 5, 2);
            log.Stage(2, 15, 3);
            log.Stage(3, 5, 4);
        });
        replica.Read(replica.View(new ShardState(3, B, [B, C], 2, HandActions.First), 10, (3, HandActions.First)));
        return replica;
    }

    /// <summary>A replica whose seat, and b's, were held by lives that are dead; async, so nothing is proven.</summary>
    private static HandActions Dead()
    {
        var record = new ReplicaRecord(new Life(71), [], false, 3, HandActions.First, default, default);
        var replica = new HandActions(isSync: false, before: record, fill: log => log.Stage(2, 10, 1));
        replica.Read(replica.View(
            new ShardState(3, new Seat("b", new Life(72)), [new Seat("a", new Life(71)), new Seat("b", new Life(72))], 2, HandActions.First),
            10,
            (3, HandActions.First)));
        return replica;
    }
}
