using EQueue.Protocol;

namespace EQueue.Replication.Tests.Simulation;

/// <summary>Faults at random for some time, then none, then a look whether the shard commits again.</summary>
internal static class Storm
{
    public const int FaultMs = 6000;
    public const int HealMs = 10_000;

    public static StormResult Run(int seed, bool isSync, bool losesPower = true)
    {
        var choice = new Random(seed * 31 + 7);
        var world = new World(seed, nodes: choice.Next(3) == 0 ? 5 : 3, isSync);
        world.Begin();
        world.Propose();
        world.RunFor(300);
        long end = world.Now + FaultMs;
        while (world.Now < end && world.Oracle.Violation is null)
        {
            Break(world, choice, losesPower);
            world.RunFor(40 + choice.Next(400));
        }

        world.HealAll();
        LogPosition before = world.Oracle.CommittedEnd;
        long healed = world.Now;
        bool commits = world.RunUntil(() => world.Oracle.CommittedEnd > before || world.Oracle.Violation is not null, HealMs);
        long took = world.Now - healed;
        world.RunFor(500);
        foreach (ModelNode node in world.Nodes)
            Check(world, node);
        return new StormResult(seed, world.Oracle.Violation, world.Oracle.EpochsWithCommits, commits, took, world.Steps, world.Describe());
    }

    /// <summary>
    /// The same with an etcd that is once put back to an earlier state. What was committed may then be out of reach, and
    /// replicas may end and wait for a person; two contents of one epoch must never be.
    /// </summary>
    public static StormResult RunWithRestore(int seed)
    {
        var choice = new Random(seed * 17 + 3);
        var world = new World(seed);
        world.BeginWithSeats();
        world.Oracle.ForgivesLoss = true;
        long end = world.Now + FaultMs;
        long restore = world.Now + 1000 + choice.Next(FaultMs - 2000);
        while (world.Now < end && world.Oracle.Violation is null)
        {
            Break(world, choice, losesPower: true);
            world.RunFor(40 + choice.Next(400));
            if (world.Now < restore)
                continue;
            restore = long.MaxValue;
            world.Etcd.RestoreTo(Math.Max(1, world.Etcd.Revisions - 1 - choice.Next(12)));
        }

        world.HealAll();
        LogPosition before = world.Oracle.CommittedEnd;
        bool commits = world.RunUntil(() => world.Oracle.CommittedEnd > before, HealMs);
        return new StormResult(
            seed, world.Oracle.Violation, world.Oracle.EpochsWithCommits, commits, 0, world.Steps, world.Describe())
        {
            Told = world.Nodes.Count(node => node.Stopped is { Reason: StopReason.ForeignHistory }
                || node.Alarms.Any(alarm => alarm.Contains("restored", StringComparison.Ordinal))),
        };
    }

    private static void Check(World world, ModelNode node)
    {
        if (node.Stopped is { } stop)
            world.Oracle.Fail($"{node.Name} ended: {stop.Reason}, {stop.Why}");
        if (node.SetAsides > 0)
            world.Oracle.Fail($"{node.Name} was set aside");
        if (node.Alarms.Count > 0)
            world.Oracle.Fail($"{node.Name} alarms: {node.Alarms[0]}");
        if (node.Record is { } record)
        {
            LogPosition known =
                record.Committed < world.Oracle.CommittedEnd ? record.Committed : world.Oracle.CommittedEnd;
            world.Oracle.CheckEqual(node.Name, node.Log, known);
        }
    }

    private static void Break(World world, Random choice, bool losesPower)
    {
        ModelNode any = world.Nodes[choice.Next(world.Nodes.Count)];
        // Half of the faults meet the leader.
        ModelNode node = choice.Next(2) == 0 ? world.Leader ?? any : any;
        ModelNode other = world.Nodes[choice.Next(world.Nodes.Count)];
        int time = 50 + choice.Next(900);
        switch (choice.Next(15))
        {
            case 0 or 1 or 2:
                node.Kill();
                StartLater(world, node, time);
                break;
            case 3 when losesPower:
                node.LosePower();
                StartLater(world, node, time);
                break;
            case 4 when losesPower && choice.Next(3) == 0:
                foreach (ModelNode each in world.Nodes)
                {
                    each.LosePower();
                    StartLater(world, each, choice.Next(600));
                }

                break;
            case 5:
                node.StopCleanly();
                StartLater(world, node, time);
                break;
            case 6 or 7:
                node.Pause();
                world.After(time, node.Resume);
                break;
            case 8:
                world.Cut(node.Name, other.Name);
                world.After(time, () => world.Heal(node.Name, other.Name));
                break;
            case 9:
                Isolate(world, node, time);
                break;
            case 10:
                world.Etcd.IsAway = true;
                world.After(time, () => world.Etcd.IsAway = false);
                break;
            case 11:
                world.Etcd.IsBad = true;
                world.After(3 * time, () => world.Etcd.IsBad = false);
                break;
            case 12:
                world.HasBadNetwork = true;
                world.After(time, () => world.HasBadNetwork = false);
                break;
            case 13:
                node.IsSlow = true;
                world.After(2 * time, () => node.IsSlow = false);
                break;
            case 14:
                ModelLog log = node.Log;
                log.IsFull = true;
                world.After(4 * time, () => log.IsFull = false);
                break;
        }
    }

    private static void Isolate(World world, ModelNode node, int time)
    {
        foreach (ModelNode peer in world.Nodes)
        {
            if (peer == node)
                continue;
            world.CutBoth(node.Name, peer.Name);
            world.After(time, () =>
            {
                world.Heal(node.Name, peer.Name);
                world.Heal(peer.Name, node.Name);
            });
        }
    }

    private static void StartLater(World world, ModelNode node, int time)
        => world.After(time, () =>
        {
            if (!node.IsAlive)
                node.Start();
        });
}

/// <summary>What a storm has shown.</summary>
internal sealed record StormResult(int Seed, string? Violation, int Epochs, bool Commits, long ResumeMs, long Steps, string End)
{
    /// <summary>Replicas that ended, or told an alarm, because etcd no longer knows their history.</summary>
    public int Told { get; init; }
}
