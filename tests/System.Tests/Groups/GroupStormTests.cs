using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>
/// Members in processes of their own that are killed, stopped beyond their session timeout, sent away and joined at
/// random, and a broker that is killed. EQUEUE_STORM_SECONDS sets for how long (8), EQUEUE_STORM_SEED the seed.
/// </summary>
public sealed class GroupStormTests(ITestOutputHelper output)
{
    private static readonly int Seconds = LongRun.Length("EQUEUE_STORM_SECONDS", 8, 60);

    private static readonly int Seed = LongRun.Setting("EQUEUE_STORM_SEED", 1);

    [Fact]
    public async Task GivenMembersThatComeAndDie_WhenAllIsAtRest_ThenEveryMessageWasProcessedInOrderAndIsCommitted()
    {
        using var directory = new TempDirectory();
        await using GroupStorm storm = await GroupStorm.StartAsync(directory["data"], Seed);
        try
        {
            await storm.RunAsync(TimeSpan.FromSeconds(Seconds));
            await storm.CheckAsync();
        }
        finally
        {
            output.WriteLine($"seed {Seed}: {string.Join(", ", storm.Events)}");
        }
    }
}
