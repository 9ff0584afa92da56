using System.Diagnostics;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>
/// The store is stopped at byte-exact points of what it wrote: by the death of its process and by power cuts that lose,
/// tear and reorder what was not synced. EQUEUE_CRASH_POINTS sets how many points (5,000), EQUEUE_CRASH_SEED where the
/// seeds begin.
/// </summary>
public sealed class CrashTests
{
    private const int PointsPerRun = 500;

    /// <summary>At every fourth point the whole store is opened and read through its public face, at the others
    /// recovery alone.</summary>
    private const int StoreEvery = 4;

    private static readonly int Points = LongRun.Length("EQUEUE_CRASH_POINTS", 1_500, 20_000);

    private static readonly int FirstSeed = LongRun.Setting("EQUEUE_CRASH_SEED", 1);

    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(FlushPolicy.Sync)]
    [InlineData(FlushPolicy.Async)]
    public async Task GivenARun_WhenCutAtAnyByte_ThenWhatWasAcknowledgedIsReadAndNothingElse(FlushPolicy policy)
    {
        int runs = Math.Max(1, Points / 2 / PointsPerRun);
        var clock = Stopwatch.StartNew();
        for (int run = 0; run < runs; run++)
        {
            int seed = FirstSeed + run;
            CrashHistory history = await CrashRun.RecordAsync(seed, policy, appends: 120, Cancel);
            await CutAsync(history, policy, seed);
        }

        TestContext.Current.TestOutputHelper?.WriteLine(
            $"{runs * PointsPerRun} points from seed {FirstSeed} in {clock.Elapsed}");
    }

    private static async Task CutAsync(CrashHistory history, FlushPolicy policy, int seed)
    {
        var random = new Random(seed);
        IReadOnlyList<DiskOperation> journal = history.Disk.Journal;
        var replay = new DiskReplay(journal);
        int[] cuts = [.. Enumerable.Range(0, PointsPerRun).Select(_ => random.Next(journal.Count + 1)).Order()];
        for (int i = 0; i < cuts.Length; i++)
        {
            int changes = cuts[i];
            int size = changes < journal.Count ? journal[changes].Bytes?.Length ?? 0 : 0;
            int bytes = random.Next(size + 1);
            replay.PlayTo(changes, bytes);
            bool isPowerCut = random.Next(4) > 0;
            var style = (PowerCutStyle)random.Next(4);
            int cutSeed = random.Next();
            SimulatedDisk disk = isPowerCut ? replay.CutPower(cutSeed, style) : replay.Kill();
            try
            {
                if (i % StoreEvery == 0)
                    await CrashCheck.RunAsync(history, disk, policy, changes, isPowerCut, Cancel);
                else
                    CrashCheck.RunRecovery(history, disk, policy, changes, isPowerCut, Cancel);
            }
            catch (Exception exception) when (exception is not OperationCanceledException)
            {
                string cut = isPowerCut ? $"power cut ({style}, seed {cutSeed})" : "kill";
                throw new InvalidOperationException(
                    $"seed {seed}, {policy}, {cut} after {changes} changes and {bytes} bytes: {exception.Message}",
                    exception);
            }
        }
    }
}
