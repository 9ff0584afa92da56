using System.Diagnostics;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>
/// The store beside a plain model: seeded steps of every kind, crashes and faults among them, and after each crash a
/// complete comparison. EQUEUE_MODEL_STEPS sets how many steps (8,000), EQUEUE_MODEL_SEED where the seeds begin; a
/// failure prints both for the shortest run that repeats its steps.
/// </summary>
/// <remarks>
/// Without FsCheck: it shrinks by running shorter lists of commands again and believes what they do, but the writer,
/// flusher and keeper threads of the store decide what a crash leaves, so a shorter list that passes proves nothing,
/// and its runner of models is not asynchronous. What a step does depends on seed and step number alone, not on what
/// the steps before it found, and a life is short: that is what shrinking would have to arrive at.
/// </remarks>
public sealed class StoreModelTests
{
    private const int StepsOfAWorld = 400;
    private const int WorldsAtOnce = 8;

    private static readonly int Steps = LongRun.Length("EQUEUE_MODEL_STEPS", 8_000, 100_000);

    private static readonly int FirstSeed = LongRun.Setting("EQUEUE_MODEL_SEED", 1);

    [Fact]
    public async Task GivenAnySteps_WhenTheStoreTakesThem_ThenItIsWhatThePlainModelIs()
    {
        var histogram = new Histogram();
        var clock = Stopwatch.StartNew();
        try
        {
            // The wait for room on a disk lasts a second of real time: many worlds at once make it cheap.
            await Parallel.ForEachAsync(
                Enumerable.Range(0, (Steps + StepsOfAWorld - 1) / StepsOfAWorld),
                new ParallelOptions
                {
                    MaxDegreeOfParallelism = WorldsAtOnce,
                    CancellationToken = TestContext.Current.CancellationToken,
                },
                async (world, cancel) => await ModelWorld.RunAsync(
                    FirstSeed + world, Math.Min(StepsOfAWorld, Steps - (world * StepsOfAWorld)), histogram, cancel));
        }
        finally
        {
            TestContext.Current.TestOutputHelper?.WriteLine(
                $"{Steps} steps from seed {FirstSeed} in {clock.Elapsed}{Environment.NewLine}{histogram}");
        }

        if (Steps >= 8_000)
            CheckMix(histogram);
    }

    private static void CheckMix(Histogram histogram)
    {
        Assert.True(histogram.Sum("step crash") >= Steps / 20, "too few crashes");
        Assert.True(histogram.Sum("step inject") >= Steps / 50, "too few faults");
        Assert.True(histogram["step roll by age"] >= Steps / 100, "too few rolls");
        string[] needed =
        [
            "latched", "read from disk", "passed over some", "passed over all", "answer: DuplicateSequence", "answer: OutOfOrderSequence",
            "answer: ProducerFenced", "answer: UnknownProducer", "answer: StorageFull", "watch told: visible",
            "crash while opening: hit", "entries lost, not promised", "fault: SyncFile failed", "fault: Write failed",
        ];
        Assert.All(needed, what => Assert.True(histogram[what] > 0, $"never: {what}"));
    }
}
