using EQueue.Protocol;
using EQueue.Replication.Tests.Simulation;

namespace EQueue.Replication.Tests;

/// <summary>What happens to a whole shard in the situations that random faults hardly ever meet.</summary>
public sealed class ScenarioTests
{
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void GivenThreeSeats_WhenTheLeaderDies_ThenOneEpochMoreLeadsWithinASecond(bool isSync)
    {
        World world = Begin(isSync: isSync);
        int epoch = world.Etcd.Now.State!.Epoch;
        world["a"].LosePower();
        Assert.True(world.RunUntil(() => world.Leader is { Name: not "a" }, 1000), world.Describe());
        Assert.Equal(epoch + 1, world.Etcd.Now.State!.Epoch);
        world["a"].Start();
        Assert.True(world.RunUntil(() => world.Etcd.Now.State!.Seats.Count == 3, 3000), world.Describe());
        AssertSound(world);
    }

    [Fact]
    public void GivenTwoNodesWithoutSeats_WhenEverySeatIsDown_ThenTheyNeverLead()
    {
        World world = Begin(nodes: 5);
        ModelNode[] outside = [.. world.Nodes.Where(node => world.Etcd.Now.State!.SeatOf(node.Name) is null)];
        Assert.Equal(2, outside.Length);
        int epoch = world.Etcd.Now.State!.Epoch;
        foreach (ModelNode node in world.Nodes.Except(outside))
            node.Kill();
        world.RunFor(5000);
        Assert.Equal(epoch, world.Etcd.Now.State!.Epoch);
        foreach (ModelNode node in world.Nodes.Except(outside))
            node.Start();
        AssertResumes(world);
    }

    [Fact]
    public void GivenASeatThatIsBehindWhatIsKnownCommitted_WhenANewLeaderExpandsBeforeItOpens_ThenNothingCommittedIsLost()
    {
        // a and c hold the seats, b is out and behind; a dies for good, c claims with {a, c} and is not open; b comes,
        // gets a seat only with all of c's log, then c dies: b must have everything.
        World world = Begin();
        world.CutBoth("a", "b");
        world.CutBoth("c", "b");
        Assert.True(world.RunUntil(() => world.Etcd.Now.State!.Seats.Count == 2, 3000), world.Describe());
        world.RunFor(300);
        world["a"].Kill();
        Assert.True(world.RunUntil(() => world["c"].Core!.IsLeading, 2000), world.Describe());
        Assert.False(world["c"].Core!.IsOpen);
        world.HealAllBut("a");
        Assert.True(world.RunUntil(() => world["c"].Core!.IsOpen, 3000), world.Describe());
        world.RunFor(100);
        world["c"].Kill();
        world["a"].Start();
        Assert.True(world.RunUntil(() => world.Leader is { Name: "b" }, 3000), world.Describe());
        AssertSound(world);
    }

    [Fact]
    public void GivenTheAnswerToAnExpansionIsLost_WhenTheNewSeatDiesAtOnce_ThenNothingIsCommittedWithoutIt()
    {
        World world = Begin();
        world["c"].Kill();
        Assert.True(world.RunUntil(() => world.Etcd.Now.State!.Seats.Count == 2, 3000), world.Describe());
        world["c"].Start();
        world.Etcd.LosesNextAnswer = true;
        Assert.True(world.RunUntil(() => world.Etcd.Now.State!.Seats.Count == 3, 3000), world.Describe());
        world.Etcd.IsAway = true;
        world.CutBoth("a", "c");
        world.RunFor(20);
        LogPosition committed = world.Oracle.CommittedEnd;
        world.RunFor(2000);
        Assert.Equal(committed, world.Oracle.CommittedEnd);
        world.HealAll();
        AssertResumes(world);
    }

    [Fact]
    public void GivenEtcdIsAway_WhenNothingElseFails_ThenTheShardGoesOnCommitting()
    {
        World world = Begin();
        world.Etcd.IsAway = true;
        world.RunFor(3000);
        LogPosition committed = world.Oracle.CommittedEnd;
        world.RunFor(1000);
        Assert.True(world.Oracle.CommittedEnd.Value > committed.Value + 50, world.Describe());
        AssertSound(world);
    }

    [Fact]
    public void GivenAPausedLeader_WhenItWakesUp_ThenItCommitsNothingMoreAndFollows()
    {
        World world = Begin();
        world["a"].Pause();
        Assert.True(world.RunUntil(() => world.Leader is { Name: not "a" }, 2000), world.Describe());
        world.RunFor(300);
        world["a"].Resume();
        world.RunFor(500);
        Assert.False(world["a"].Core!.IsLeading);
        Assert.True(world.RunUntil(() => world.Etcd.Now.State!.Seats.Count == 3, 3000), world.Describe());
        AssertSound(world);
    }

    /// <summary>A disk that stalls 6 s of every 10 s for 10 min, in the model's five times shorter times: the syncs alone
    /// stand, or the process with them.</summary>
    [Theory]
    [InlineData("b", false)]
    [InlineData("b", true)]
    [InlineData("a", false)]
    [InlineData("a", true)]
    public void GivenADiskThatStallsMostOfTheTime_WhenItGoesOn_ThenCommitsStandStillForLittleOfIt(
        string name, bool pausesAll)
    {
        World world = Begin();
        world.HasSlowAppends = false;
        Assert.Equal("a", world.Leader!.Name);
        int epoch = world.Etcd.Now.State!.Epoch;
        int steps = 0, still = 0;
        for (int round = 0; round < 60; round++)
        {
            world[name].IsStalled = true;
            if (pausesAll)
                world[name].Pause();
            Count(1200);
            world[name].IsStalled = false;
            world[name].Resume();
            Count(800);
        }

        TestContext.Current.TestOutputHelper!.WriteLine(
            $"{still} of {steps} steps without a commit, {world.LetOuts} times let out, {world.Resignations} resigned");
        Assert.True(still < 0.15 * steps, $"{still} of {steps} steps without a commit; {world.Describe()}");
        Assert.InRange(world.Etcd.Now.State!.Epoch, epoch, epoch + 1);
        AssertSound(world);

        void Count(int milliseconds)
        {
            for (int i = 0; i < milliseconds / 50; i++)
            {
                LogPosition before = world.Oracle.CommittedEnd;
                world.RunFor(50);
                steps++;
                if (world.Oracle.CommittedEnd == before)
                    still++;
            }
        }
    }

    [Fact]
    public void GivenTwoSeatsAndAThirdThatIsReady_WhenTheLeaderDies_ThenItsSeatIsNotWaitedFor()
    {
        World world = Begin();
        world.HasSlowAppends = false;
        world.CutBoth("a", "b");
        Assert.True(world.RunUntil(() => world.Etcd.Now.State!.Seats.Count == 2, 3000), world.Describe());
        world.Heal("a", "b");
        world.Heal("b", "a");
        world.RunFor(300);
        Assert.Equal(2, world.Etcd.Now.State!.Seats.Count);
        world["a"].Kill();
        Assert.True(world.RunUntil(() => world.Leader is { Name: "c" }, 600), world.Describe());
        AssertSound(world);
    }

    [Fact]
    public void GivenASoleSeat_WhenItRestarts_ThenItLeadsAgainByItself()
    {
        World world = Begin(nodes: 1, seats: 1);
        world["a"].LosePower();
        world.RunFor(500);
        world["a"].Start();
        AssertResumes(world);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void GivenEveryProcessIsKilledAtOnce_WhenTheyStartAgain_ThenTheShardResumesWithoutACommand(bool isSync)
    {
        World world = Begin(isSync: isSync);
        foreach (ModelNode node in world.Nodes)
            node.Kill();
        foreach (ModelNode node in world.Nodes)
            node.Start();
        AssertResumes(world);
    }

    [Fact]
    public void GivenSyncFlush_WhenThePowerGoesEverywhere_ThenTheShardResumesAndNothingIsLost()
    {
        for (int seed = 1; seed <= 20; seed++)
        {
            World world = Begin(seed: seed);
            foreach (ModelNode node in world.Nodes)
                node.LosePower();
            world.RunFor(200);
            foreach (ModelNode node in world.Nodes)
                node.Start();
            AssertResumes(world);
        }
    }

    [Fact]
    public void GivenAsyncFlush_WhenThePowerGoesEverywhere_ThenTheShardResumesAndWhatWasDurableEverywhereIsThere()
    {
        for (int seed = 1; seed <= 20; seed++)
        {
            World world = Begin(seed: seed, isSync: false);
            long durable = world.Nodes.Min(node => node.Log.Durable.Value);
            foreach (ModelNode node in world.Nodes)
                node.LosePower();
            world.Oracle.ForgivesLoss = true;
            foreach (ModelNode node in world.Nodes)
                node.Start();
            Assert.True(world.RunUntil(() => world.Leader is not null, 10_000), world.Describe());
            Assert.True(world.Leader!.Core!.Record.Committed.Value >= durable, world.Describe());
            Assert.Null(world.Oracle.Violation);
        }
    }

    [Fact]
    public void GivenADirectoryThatIsLost_WhenItsNodeStarts_ThenItIsCopiedAndSeatedWithoutACommand()
    {
        World world = Begin();
        foreach (string name in new[] { "b", "a" })
        {
            world[name].Kill();
            world[name].LoseDirectory();
            world.RunFor(800);
            world[name].Start();
            Assert.True(
                world.RunUntil(() => world.Etcd.Now.State!.Has(new Seat(name, world[name].Life)), 5000), world.Describe());
        }

        AssertSound(world);
    }

    [Fact]
    public void GivenAnOlderImageOfASeatsDisk_WhenItStarts_ThenItIsNotCountedUntilItHasCaughtUp()
    {
        World world = Begin();
        (ModelEntry[] Entries, ReplicaRecord? Record) image = world["b"].Image();
        world.RunFor(300);
        world["b"].Kill();
        world["b"].RestoreImage(image);
        world["b"].Start();
        Assert.True(
            world.RunUntil(() => world.Etcd.Now.State!.Has(new Seat("b", world["b"].Life)), 3000), world.Describe());
        world.RunFor(1000);
        Assert.Null(world.Oracle.Violation);
        world["a"].Kill();
        AssertResumes(world);
    }

    [Fact]
    public void GivenEtcdRestoredFromABackup_WhenFaultsGoOn_ThenNoEpochHasTwoContents()
    {
        int resumed = 0;
        for (int seed = 1; seed <= 200; seed++)
        {
            StormResult result = Storm.RunWithRestore(seed);
            Assert.True(result.Violation is null, $"seed {seed}: {result.Violation}\n{result.End}");
            Assert.True(result.Commits || result.Told > 0, $"seed {seed} neither commits nor says why: {result.End}");
            if (result.Commits)
                resumed++;
        }

        Assert.InRange(resumed, 20, 180);
    }

    private static World Begin(int seed = 1, int nodes = 3, bool isSync = true, int seats = 3)
    {
        var world = new World(seed, nodes, isSync, seats);
        world.BeginWithSeats();
        return world;
    }

    private static void AssertResumes(World world)
    {
        LogPosition committed = world.Oracle.CommittedEnd;
        Assert.True(world.RunUntil(() => world.Oracle.CommittedEnd > committed, 10_000), world.Describe());
        AssertSound(world);
    }

    private static void AssertSound(World world)
    {
        world.RunFor(300);
        foreach (ModelNode node in world.Nodes)
        {
            if (node.Stopped is { } stop)
                world.Oracle.Fail($"{node.Name} ended: {stop.Reason}, {stop.Why}");
            if (node.SetAsides > 0)
                world.Oracle.Fail($"{node.Name} was set aside");
        }

        Assert.True(world.Oracle.Violation is null, $"{world.Oracle.Violation}\n{world.Describe()}");
    }
}
