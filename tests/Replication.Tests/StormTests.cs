using EQueue.Replication.Tests.Simulation;
using EQueue.Support;

namespace EQueue.Replication.Tests;

/// <summary>Random faults over many seeds; EQUEUE_REPLICA_SEEDS and EQUEUE_REPLICA_SEED make it longer or repeat one.</summary>
public sealed class StormTests(ITestOutputHelper output)
{
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void GivenRandomFaults_WhenTheyAreOver_ThenNothingCommittedIsLostAndTheShardCommitsAgain(bool isSync)
    {
        int seeds = Math.Max(1, LongRun.Length("EQUEUE_REPLICA_SEEDS", 10_000, 200_000) / 2);
        int first = LongRun.Setting("EQUEUE_REPLICA_SEED", 1);
        var results = new StormResult[seeds];
        // Async flush promises nothing when the power goes everywhere at once.
        Parallel.For(0, seeds, number => results[number] = Storm.Run(first + number, isSync, losesPower: isSync));

        if (results.FirstOrDefault(result => !result.Commits) is { } stuck)
            output.WriteLine($"seed {stuck.Seed} does not commit again: {stuck.End}");
        StormResult? failed = results.FirstOrDefault(result => result.Violation is not null);
        int[] epochs = [.. results.Select(result => result.Epochs).Order()];
        double resumed = results.Count(result => result.Commits) / (double)seeds;
        output.WriteLine(
            $"{seeds} seeds from {first}, sync {isSync}: median {epochs[seeds / 2]} epochs with commits, {resumed:P1} commit again, "
            + $"{results.Sum(result => result.Steps)} steps, slowest {results.Max(result => result.ResumeMs)} ms, "
            + $"not again: {string.Join(' ', results.Where(result => !result.Commits).Select(result => result.Seed).Take(20))}");
        Assert.True(failed is null, $"EQUEUE_REPLICA_SEED={failed?.Seed} EQUEUE_REPLICA_SEEDS=2: {failed?.Violation}\n{failed?.End}");
        Assert.True(epochs[seeds / 2] >= 5, $"too shallow: a median of {epochs[seeds / 2]} epochs with commits");
        Assert.True(resumed >= 0.95, $"{resumed:P1} of the runs commit again within {Storm.HealMs} ms");
    }
}
