using System.Diagnostics;
using EQueue.Support;

namespace EQueue.Client.Tests.Network;

/// <summary>
/// The real client against a real broker over a network that cuts, holds, delays and refuses at every byte, by seed.
/// EQUEUE_PROXY_RUNS sets how many runs (200), EQUEUE_PROXY_SEED where the seeds begin; a failure prints its own.
/// </summary>
[Collection(nameof(HostileNetworkTests))]
[CollectionDefinition(nameof(HostileNetworkTests), DisableParallelization = true)]
public sealed class HostileNetworkTests
{
    private const int RunsAtOnce = 40;

    /// <summary>More memory than before the later runs, over what pools and caches may have grown by.</summary>
    private const long MaxGrowthBytes = 48 * 1024 * 1024;

    private static readonly int Runs = LongRun.Length("EQUEUE_PROXY_RUNS", 100, 2_000);

    private static readonly int FirstSeed = LongRun.Setting("EQUEUE_PROXY_SEED", 1);

    [Fact]
    public async Task GivenAHostileNetwork_WhenItTurnsGood_ThenNothingIsLostOrDoubledAndNothingIsLeftBehind()
    {
        await using HostileWorld world = await HostileWorld.StartAsync();
        var clock = Stopwatch.StartNew();
        int warmUp = Math.Min(Runs, RunsAtOnce * 2);
        try
        {
            long connections = await ConnectionsAtRestAsync(world);
            await RunAsync(world, FirstSeed, warmUp);
            await AssertNothingLeftAsync(world, connections);
            long before = GC.GetTotalMemory(forceFullCollection: true);
            await RunAsync(world, FirstSeed + warmUp, Runs - warmUp);
            await AssertNothingLeftAsync(world, connections);
            Assert.InRange(GC.GetTotalMemory(forceFullCollection: true) - before, long.MinValue, MaxGrowthBytes);
        }
        finally
        {
            TestContext.Current.TestOutputHelper?.WriteLine(
                $"{Runs} runs from seed {FirstSeed} in {clock.Elapsed}{Environment.NewLine}{world.Histogram}");
        }

        if (Runs >= 200)
            CheckMix(world.Histogram);
    }

    private static async Task RunAsync(HostileWorld world, int firstSeed, int count)
    {
        List<WeakReference> made = [];
        await Parallel.ForEachAsync(
            Enumerable.Range(firstSeed, count),
            new ParallelOptions
            {
                MaxDegreeOfParallelism = RunsAtOnce,
                CancellationToken = TestContext.Current.CancellationToken,
            },
            async (seed, _) =>
            {
                var run = new HostileRun(world, seed);
                await run.RunAsync();
                lock (made)
                    made.AddRange(run.Made);
            });
        await Eventually.TrueAsync(
            () =>
            {
                Collect();
                return made.TrueForAll(static one => !one.IsAlive);
            },
            "clients that are disposed can be collected");
    }

    private static async Task<long> ConnectionsAtRestAsync(HostileWorld world)
    {
        await world.Direct.Admin.DescribeBrokerAsync();
        return world.Figure("broker.connections");
    }

    private static async Task AssertNothingLeftAsync(HostileWorld world, long connections)
    {
        await Eventually.TrueAsync(() => world.Figure("broker.connections") == connections);
        await Eventually.TrueAsync(() => world.Figure("broker.parkedFetches") == 0);
        await Eventually.TrueAsync(() => world.Figure("broker.parkedHeartbeats") == 0);
        await Eventually.TrueAsync(() => world.Figure("broker.groupMembers") == 0);
        Assert.Equal(0, world.Figure("broker.topics"));
        Collect();
        Assert.True(
            world.Wrong.Count == 0,
            $"{world.Wrong.Count} things went wrong unseen:{Environment.NewLine}"
            + string.Join(Environment.NewLine, world.Wrong.Take(5)));
    }

    private static void Collect()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
    }

    private static void CheckMix(Histogram histogram)
    {
        foreach (string way in (string[])["there", "back"])
        {
            for (FaultKind kind = FaultKind.Reset; kind <= FaultKind.BlackHole; kind++)
                Assert.True(histogram[$"fault {way}: {kind}"] > 0, $"never: {kind} {way}");
            for (int at = 0; at <= FaultPlace.Behind; at++)
            {
                string place = new FaultPlace(0, at, 0, -1).Name;
                Assert.True(histogram[$"place {way}: {place}"] > 0, $"never: {place} {way}");
            }
        }

        foreach (string what in (string[])["refusal: silent", "refusal: closed", "send: Timeout", "send: Disposed"])
            Assert.True(histogram[what] > 0, $"never: {what}");
    }
}
