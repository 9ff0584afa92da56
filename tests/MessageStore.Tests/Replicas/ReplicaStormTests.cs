using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>Random things on two real stores. <c>EQUEUE_REPLICA_OPERATIONS=1000000</c> and
/// <c>EQUEUE_REPLICA_SEED</c> for a long run.</summary>
public sealed class ReplicaStormTests
{
    private const int PerWorld = 2_000;

    private static readonly string[] Expected =
    [
        "append", "state", "open queue", "remove queue", "move start", "feed", "sync", "commit", "copy", "remove below",
        "follower killed", "follower's power cut", "follower cut", "change of roles", "leader restarted",
        "leader stopped", "leader killed", "leader's power cut", "newcomer", "checked", "copied .index",
        "copied .state",
    ];

    [Theory]
    [InlineData(FlushPolicy.Sync)]
    [InlineData(FlushPolicy.Async)]
    public async Task GivenALeaderAndAFollower_WhenBothFailAndChangeRoles_ThenWhatIsCommittedStaysByteForByte(FlushPolicy policy)
    {
        int operations = LongRun.Length("EQUEUE_REPLICA_OPERATIONS", 4_000, 60_000) / 2;
        int first = LongRun.Setting("EQUEUE_REPLICA_SEED", 1);
        Dictionary<string, int> counts = new(StringComparer.Ordinal);
        for (int seed = first; operations > 0; seed++, operations -= PerWorld)
        {
            await using ReplicaStorm storm = await ReplicaStorm.BeginAsync(seed, policy);
            try
            {
                await storm.RunAsync(PerWorld);
            }
            catch (Exception exception)
            {
                throw new InvalidOperationException(
                    $"EQUEUE_REPLICA_SEED={seed} with {policy} flush\n{storm.Describe()}", exception);
            }

            foreach ((string what, int count) in storm.Counts)
                counts[what] = counts.GetValueOrDefault(what) + count;
        }

        TestContext.Current.TestOutputHelper?.WriteLine(
            string.Join(", ", counts.Select(pair => $"{pair.Key} {pair.Value}")));
        foreach (string what in Expected)
            Assert.True(counts.GetValueOrDefault(what) > 0, $"never: {what}");
    }
}
