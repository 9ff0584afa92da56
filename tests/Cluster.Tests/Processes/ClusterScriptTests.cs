using EQueue.Cluster.Tests.Etcd;
using EQueue.Replication;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>Three processes and an etcd under load and faults; nothing acknowledged is lost, doubled or reordered.</summary>
/// <remarks>EQUEUE_CLUSTER_RUNS, EQUEUE_CLUSTER_SECONDS and EQUEUE_CLUSTER_SEED make it long.</remarks>
public sealed class ClusterScriptTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenNoFault_WhenTheScriptRuns_ThenOneEpochServesAndEverythingIsThere(bool isSync)
    {
        EtcdProcess.SkipWithoutEtcd();
        await using ProcessCluster cluster = await ProcessCluster.StartAsync(etcd, isSync);
        await cluster.SeatsAsync(3);
        await using var load = new ScriptLoad(cluster.Connect());
        await load.MoreAsync(2000);
        await load.CheckAsync();
        Assert.Equal(1, (await cluster.ReadStateAsync())!.Epoch);
        Assert.Empty(cluster.Errors);
        Assert.True(await cluster.CompareLogsAsync() > 2 * 4 * 2000 * 128);
    }

    [Fact]
    public async Task GivenFourProgramsForEachProcessor_WhenTheScriptRuns_ThenNobodyTakesABusyLeaderForADeadOne()
    {
        EtcdProcess.SkipWithoutEtcd();
        await using ProcessCluster cluster = await ProcessCluster.StartAsync(etcd, isSync: true);
        await cluster.SeatsAsync(3);
        await using var load = new ScriptLoad(cluster.Connect());
        await load.MoreAsync(100);
        int first = (await cluster.ReadStateAsync())!.Epoch;
        using (var busy = new BusyProcesses(perProcessor: 4))
        {
            long end = Environment.TickCount64 + (LongRun.Length("EQUEUE_CLUSTER_SECONDS", 8, 30) * 1000L);
            while (Environment.TickCount64 < end)
                await load.MoreAsync(20);
            Assert.True(busy.AreRunning);
        }

        ShardState state = (await cluster.ReadStateAsync())!;
        TestContext.Current.TestOutputHelper!.WriteLine(
            $"{load.Acknowledged} acknowledged, {state.Epoch - first} claims, longest wait {load.LongestMs} ms");
        Assert.InRange(state.Epoch, first, first + 1);
        await load.CheckAsync();
        Assert.Empty(cluster.Errors);
        Assert.True(await cluster.CompareLogsAsync() > 0);
    }

    [Fact]
    public async Task GivenKillsPausesCutsAndAnEtcdThatIsAway_WhenTheScriptRuns_ThenNothingAcknowledgedIsLostDoubledOrReordered()
    {
        EtcdProcess.SkipWithoutEtcd();
        int first = LongRun.Setting("EQUEUE_CLUSTER_SEED", 1);
        int runs = LongRun.Length("EQUEUE_CLUSTER_RUNS", 2, 6);
        for (int seed = first; seed < first + runs; seed++)
            await RunAsync(seed, LongRun.Length("EQUEUE_CLUSTER_SECONDS", 8, 30));
    }

    private async Task RunAsync(int seed, int seconds)
    {
        var random = new Random(seed);
        bool isSync = seed % 2 == 1;
        await using ProcessCluster cluster = await ProcessCluster.StartAsync(etcd, isSync);
        await cluster.SeatsAsync(3);
        List<string> faults = [];
        try
        {
            await using var load = new ScriptLoad(cluster.Connect());
            await load.MoreAsync(100);
            long end = Environment.TickCount64 + (seconds * 1000L);
            while (Environment.TickCount64 < end)
                await HurtAsync(cluster, load, random, faults);
            await cluster.SeatsAsync(3);
            await load.MoreAsync(100);
            await load.CheckAsync();
            ShardState state = (await cluster.ReadStateAsync())!;
            Assert.Empty(cluster.Errors);
            long compared = await cluster.CompareLogsAsync();
            Assert.True(compared > 0);
            TestContext.Current.TestOutputHelper!.WriteLine(
                $"seed {seed} sync {isSync}: {load.Acknowledged} acknowledged, {load.Consumed} consumed, epoch "
                + $"{state.Epoch}, {faults.Count} faults, longest wait {load.LongestMs} ms, {compared} bytes of logs compared: "
                + $"{string.Join(", ", faults)}");
        }
        catch (Exception exception)
        {
            throw new InvalidOperationException(
                $"seed {seed} after {string.Join(", ", faults)}: {exception.Message}\n{cluster.Describe()}", exception);
        }
    }

    private async Task HurtAsync(ProcessCluster cluster, ScriptLoad load, Random random, List<string> faults)
    {
        int leader = await cluster.LeaderAsync();
        int number = random.Next(2) == 0 && leader >= 0 ? leader : random.Next(3);
        ServerProcess node = cluster.Nodes[number];
        LinkProxy door = cluster.Doors[number];
        var pause = TimeSpan.FromMilliseconds(200 + random.Next(3000));
        (string name, Func<Task> begin, Func<Task> end) = random.Next(9) switch
        {
            0 or 1 => ("kill", node.KillAsync, node.RestartAsync),
            2 or 3 => ("pause", Do(node.Pause), Do(node.Resume)),
            4 => ("stop", () => node.StopAsync(), node.RestartAsync),
            5 => ("refuse connections of", Do(door.Refuse), Do(door.Pass)),
            6 => ("hold what goes to", Do(() => door.HoldsThere = true), Do(door.Pass)),
            7 => ("hold what comes from", Do(() => door.HoldsBack = true), Do(door.Pass)),
            _ => ("pause etcd and", Do(etcd.Process.Pause), Do(etcd.Process.Resume)),
        };
        faults.Add($"{name} {(number == leader ? "leader" : "follower")} {(int)pause.TotalMilliseconds}");
        await begin();
        await Eventually.PassedAsync(pause);
        await end();

        // Two seats must be there before the next fault, or the shard rightly waits.
        if (random.Next(2) == 0)
            await cluster.SeatsAsync(3);
        await load.MoreAsync(20);
    }

    private static Func<Task> Do(Action action) => () =>
    {
        action();
        return Task.CompletedTask;
    };
}
