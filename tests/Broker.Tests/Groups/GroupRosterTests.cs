using EQueue.Protocol;

namespace EQueue.Broker.Tests.Groups;

/// <summary>How a queue passes and when a session ends, row by row (docs/consumer-groups.md, section 3).</summary>
public sealed class GroupRosterTests
{
    [Fact]
    public void GivenOneMember_WhenItJoins_ThenItHasEverythingAtOnce()
    {
        var driver = new RosterDriver(4);
        GroupHeartbeatResponse answer = driver.Join("a");
        Assert.Equal([1u, 2u, 3u, 4u], answer.Ids());
        Assert.Equal(0u, answer.Pending);
        Assert.All(answer.Queues(), queue => Assert.InRange(
            queue.Grant.Value, GroupGeneration.BeginOf(RosterDriver.Epoch).Value + 1, answer.Generation.Value));
        Assert.Equal(GroupState.Stable, driver.Roster.State);
    }

    [Fact]
    public void GivenAnOwner_WhenAnotherJoins_ThenItsShareComesOnlyWhenReleased()
    {
        var driver = new RosterDriver(4);
        driver.Join("a");
        GroupHeartbeatResponse second = driver.Join("b");
        Assert.Empty(second.Queues());
        Assert.Equal(2u, second.Pending);
        GroupHeartbeatResponse? revoked = driver.News("a");
        Assert.Equal(2, revoked.Queues().Length);
        Assert.Null(driver.News("b"));
        Assert.Null(driver.Beat("a", revoked!.Generation, revoked.Queues()));
        GroupHeartbeatResponse? granted = driver.News("b");
        Assert.Equal(2, granted.Queues().Length);
        Assert.Equal(0u, granted!.Pending);
        Assert.Empty(granted.Ids().Intersect(revoked.Ids()));
        Assert.Equal(2, driver.Roster.MoveCount);
    }

    [Fact]
    public void GivenTwoRevokedQueues_WhenOneIsReleased_ThenItPassesAlone()
    {
        var driver = new RosterDriver(4);
        OwnedQueue[] all = driver.Join("a").Queues();
        driver.Join("b");
        GroupHeartbeatResponse? revoked = driver.News("a");
        OwnedQueue[] kept = [.. revoked.Queues(), all.Except(revoked.Queues()).First()];
        driver.Beat("a", revoked!.Generation, kept);
        Assert.Single(driver.News("b").Queues());
    }

    [Fact]
    public void GivenALostAnswer_WhenTheMemberBeatsWithoutTheQueue_ThenThatIsNoRelease()
    {
        var driver = new RosterDriver(2);
        GroupHeartbeatResponse first = driver.Join("a");
        driver.SetTopic("t", 1, 2, 3);
        OwnedQueue given = driver.News("a").Queues()[2];
        GroupHeartbeatResponse? again = driver.Beat("a", first.Generation, first.Queues());
        Assert.Equal(given, again.Queues()[2]);
        Assert.Null(driver.Beat("a", again!.Generation, again.Queues()));
        Assert.Equal(driver.Member("a"), driver.Roster.Queues.Single(q => q.Key == given.Queue).Owner);
    }

    [Fact]
    public void GivenAQueueThatItsOwnerShallKeep_WhenItReleasesIt_ThenItComesBackUnderANewGrant()
    {
        var driver = new RosterDriver(2);
        GroupHeartbeatResponse first = driver.Join("a");
        GroupHeartbeatResponse? again = driver.Beat("a", first.Generation, first.Queues()[..1]);
        Assert.Equal(first.Queues()[0], again.Queues()[0]);
        Assert.True(again.Queues()[1].Grant > first.Queues()[1].Grant);
    }

    [Fact]
    public void GivenACommitUnderWay_WhenItsOwnerEnds_ThenTheQueueWaitsUntilItIsVisible()
    {
        var driver = new RosterDriver(1);
        driver.Join("a");
        driver.Join("b");
        driver.Roster.BeginCommit(RosterDriver.Key(1));
        driver.Roster.Leave(driver.Id("a"), stays: false, driver.Now);
        driver.Settle();
        Assert.Null(driver.Roster.Queues.Single().Owner);
        driver.Roster.EndCommit(RosterDriver.Key(1));
        driver.Settle();
        Assert.Equal(driver.Member("b"), driver.Roster.Queues.Single().Owner);
    }

    [Fact]
    public void GivenAMember_WhenItIsSilentOrOwesOrIsCutOff_ThenItsSessionEndsInTime()
    {
        var driver = new RosterDriver(2);
        driver.Join("a");
        driver.Now += TimeSpan.FromSeconds(9.9);
        driver.Expire();
        Assert.Single(driver.Roster.Members);
        driver.Now += TimeSpan.FromSeconds(0.1);
        driver.Expire();
        Assert.Equal(SessionEnd.Silent, Assert.Single(driver.Roster.Ended).Cause);

        driver.Roster.Ended.Clear();
        GroupHeartbeatResponse cut = driver.Join("b");
        driver.Roster.Disconnect(driver.Member("b"), driver.Connection, driver.Now);
        driver.Now += TimeSpan.FromSeconds(0.9);
        driver.Expire();
        Assert.Null(driver.Beat("b", cut.Generation, cut.Queues()));
        driver.Now += TimeSpan.FromSeconds(5);
        driver.Expire();
        Assert.Empty(driver.Roster.Ended);
        driver.Roster.Disconnect(driver.Member("b"), driver.Connection, driver.Now);
        driver.Now += TimeSpan.FromSeconds(1);
        driver.Expire();
        Assert.Equal(SessionEnd.Disconnected, Assert.Single(driver.Roster.Ended).Cause);
    }

    [Fact]
    public void GivenAnOwnerThatReleasesNothing_WhenItsReleaseTimeoutIsOver_ThenItIsOut()
    {
        var driver = new RosterDriver(2);
        GroupHeartbeatResponse first = driver.Join("a");
        driver.Join("b");
        GroupHeartbeatResponse? revoked = driver.News("a");
        for (int i = 0; i < 5; i++)
        {
            driver.Expire();
            Assert.Empty(driver.Roster.Ended);
            driver.Now += TimeSpan.FromSeconds(4);
            driver.Beat("a", revoked!.Generation, first.Queues());
            driver.Beat("b", driver.Member("b").Told);
        }

        driver.Expire();
        Assert.Equal((driver.Id("a"), SessionEnd.NotReleased), driver.Roster.Ended.Select(
            end => (end.Member.Id, end.Cause)).Single());
        Assert.Equal([1u, 2u], driver.News("b").Ids());
    }

    [Fact]
    public void GivenAStaticMember_WhenItIsAwayAndComesBack_ThenNobodyElseHearsOfIt()
    {
        var driver = new RosterDriver(4);
        GroupHeartbeatResponse one = driver.Join("a", "i1");
        driver.Join("b", "i2");
        GroupHeartbeatResponse? kept = driver.News("a");
        driver.Beat("a", kept!.Generation, kept.Queues());
        GroupHeartbeatResponse? other = driver.News("b");
        Assert.Equal(TimeSpan.FromMilliseconds(-1), one.ReconnectGrace);
        driver.Roster.Disconnect(driver.Member("a"), driver.Connection, driver.Now);
        driver.Now += TimeSpan.FromSeconds(9);
        driver.Beat("b", other!.Generation, other.Queues());
        driver.Expire();
        GroupHeartbeatResponse back = driver.Join("a2", "i1");
        Assert.Equal(kept.Ids(), back.Ids());
        Assert.True(back.Queues()[0].Grant > kept.Queues()[0].Grant);
        Assert.Null(driver.News("b"));
        Assert.Equal(SessionEnd.Replaced, Assert.Single(driver.Roster.Ended).Cause);
        Assert.Equal(ErrorCode.MemberReplaced, Assert.Throws<EQueueException>(() => driver.Beat(
            driver.Request("a") with { Generation = kept.Generation, InstanceId = "i1" })).Code);
    }

    [Fact]
    public void GivenAStaticMember_WhenItLeaves_ThenItsQueuesGoAtOnceOrWaitIfItStays()
    {
        var driver = new RosterDriver(2);
        driver.Join("a", "i1");
        driver.Roster.Leave(driver.Id("a"), stays: true, driver.Now);
        driver.Join("b");
        Assert.DoesNotContain(driver.Roster.Queues, queue => queue.Owner == driver.Member("b"));
        driver.Now += TimeSpan.FromSeconds(10);
        driver.Roster.Leave(driver.Id("b"), stays: true, driver.Now);
        Assert.Null(driver.Member("b"));
        driver.Expire();
        Assert.Empty(driver.Roster.Members);
    }

    [Fact]
    public void GivenOlderCalls_WhenTheyCome_ThenTheyAreFencedAndChangeNothing()
    {
        var driver = new RosterDriver(2);
        GroupHeartbeatRequest late = driver.Request("a");
        GroupHeartbeatResponse joined = driver.Join("a");
        Assert.Equal(ErrorCode.FencedGeneration, Assert.Throws<EQueueException>(() => driver.Join(late)).Code);
        GroupHeartbeatRequest beat = driver.Request("a") with { Generation = joined.Generation, Owned = [] };
        Assert.NotNull(driver.Beat(beat));
        Assert.Equal(ErrorCode.FencedGeneration, Assert.Throws<EQueueException>(() => driver.Beat(beat)).Code);
        Assert.Equal(
            ErrorCode.InvalidArgument,
            Assert.Throws<EQueueException>(
                () => driver.Beat("a", new GroupGeneration(joined.Generation.Value + 100))).Code);
        Assert.Equal(
            ErrorCode.UnknownMember,
            Assert.Throws<EQueueException>(() => driver.Beat("stranger", joined.Generation)).Code);
    }

    [Fact]
    public void GivenOtherTags_WhenAMemberJoins_ThenItIsRefusedUntilTheOthersAreGone()
    {
        var driver = new RosterDriver(2);
        driver.Join("a", null, "y", "x");
        driver.Join("b", null, "x", "y", "x");
        EQueueException refusal = Assert.Throws<EQueueException>(() => driver.Join("c", null, "z"));
        Assert.Equal(ErrorCode.TagsDiffer, refusal.Code);
        Assert.Contains("tags x, y of topic 't'", refusal.Message, StringComparison.Ordinal);
        Assert.Contains("asks for tags z", refusal.Message, StringComparison.Ordinal);
        driver.Roster.Leave(driver.Id("a"), stays: false, driver.Now);
        driver.Roster.Leave(driver.Id("b"), stays: false, driver.Now);
        Assert.Equal(2, driver.Join("c", null, "z").Ids().Length);
        Assert.Equal(2, driver.Join("c", null, "w").Ids().Length);
    }

    [Fact]
    public void GivenATopic_WhenItIsMadeGrowsAndGoes_ThenItsReadersAreTold()
    {
        var driver = new RosterDriver(0);
        driver.SetTopic("t");
        Assert.Empty(driver.Join("a").Queues());
        driver.SetTopic("t", 5, 6);
        Assert.Equal([5u, 6u], driver.News("a").Ids());
        driver.SetTopic("t", 5, 6, 7);
        Assert.Equal([5u, 6u, 7u], driver.News("a").Ids());
        driver.SetTopic("t");
        Assert.Empty(driver.News("a").Queues());
        driver.SetTopic("t", 8);
        Assert.Equal([8u], driver.News("a").Ids());
    }

    [Fact]
    public void GivenBroadcastMembers_WhenTheyJoin_ThenEachHasEverythingAndSharedOnesAreRefused()
    {
        var driver = new RosterDriver(2);
        Assert.Equal([1u, 2u], driver.Join(driver.Request("a") with { IsBroadcast = true }).Ids());
        Assert.Equal([1u, 2u], driver.Join(driver.Request("b") with { IsBroadcast = true }).Ids());
        Assert.Null(driver.News("a"));
        Assert.Equal(
            ErrorCode.GroupKindDiffers, Assert.Throws<EQueueException>(() => driver.Join("c")).Code);
        driver.SetTopic("t", 1, 2, 3);
        Assert.Equal([1u, 2u, 3u], driver.News("a").Ids());
        Assert.Equal([1u, 2u, 3u], driver.News("b").Ids());
    }

    [Fact]
    public void GivenTheSettleWindow_WhenMembersClaim_ThenTheyKeepWhatNobodyHasCommittedSince()
    {
        var driver = new RosterDriver(4, window: TimeSpan.FromSeconds(103));
        GroupGeneration old = new(((long)RosterDriver.Epoch - 1) << 32 | 7);
        GroupGeneration newer = new(old.Value + 1);
        driver.Committed[RosterDriver.Key(1)] = old;
        driver.Committed[RosterDriver.Key(2)] = newer;
        GroupHeartbeatResponse back = driver.Join(driver.Request("a") with
        {
            Generation = newer,
            Owned = [new(RosterDriver.Key(1), old), new(RosterDriver.Key(2), old), new(RosterDriver.Key(3), old)],
        });
        Assert.Equal([1u, 3u], back.Ids());
        Assert.Equal(2u, back.Pending);
        Assert.Empty(driver.Join("fresh").Queues());
        GroupHeartbeatResponse second = driver.Join(driver.Request("b") with
        {
            Generation = newer,
            Owned = [new(RosterDriver.Key(2), newer), new(RosterDriver.Key(3), newer)],
        });
        Assert.Equal([2u], second.Ids());
        Assert.Equal(GroupState.Settling, driver.Roster.State);
        driver.Now += TimeSpan.FromSeconds(3);
        driver.Settle();
        Assert.False(driver.Roster.IsSettling);
        Assert.Equal(4, driver.Roster.Queues.Count(queue => queue.Target is not null));
        Assert.Equal([4u], driver.News("fresh").Ids());
    }

    [Fact]
    public void GivenEveryQueueIsClaimed_WhenTheWindowIsOpen_ThenItClosesAtOnce()
    {
        var driver = new RosterDriver(1, window: TimeSpan.FromSeconds(103));
        GroupGeneration old = new(7);
        driver.Join(driver.Request("a") with { Generation = old, Owned = [new(RosterDriver.Key(1), old)] });
        Assert.Equal(GroupState.Stable, driver.Roster.State);
    }
}
