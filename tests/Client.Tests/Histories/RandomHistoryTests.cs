using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Client.Tests.Histories;

/// <summary>Kills, power cuts, restarts and put-backs at random points, under readers that live through all of
/// them.</summary>
public sealed class RandomHistoryTests
{
    private const int Queues = 3;

    /// <summary>Rounds of a run; CONTRIBUTING.md says how to run it for long.</summary>
    private static int Rounds => LongRun.Length("EQUEUE_HISTORY_ROUNDS", 8, 60);

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(49181730)] // an epoch that lost all its messages, then a copy with a batch at its start
    [InlineData(0)]
    public async Task GivenALogSetBackAtRandom_WhenReadersLiveOn_ThenTheyMeetAllThatSurvivesInItsOrder(int seed)
    {
        seed = seed == 0 ? Environment.TickCount : seed;
        TestContext.Current.TestOutputHelper?.WriteLine($"seed {seed}");
        var random = new Random(seed);
        await using ForkingBroker broker = await ForkingBroker.StartAsync(
            FlushPolicy.Async,
            Queues,
            bodyBytes: 4_000,
            static options => options with
            {
                // Several segments, so that places are found in sealed indexes as well.
                Limits = options.Limits with { MaxMessageBytes = 8 << 10 },
                Store = options.Store with
                {
                    SegmentSizeBytes = 256 << 10,
                    TailMemoryBytes = 256 << 10,
                    MaxBatchBytes = 72 << 10,
                },
            });
        await broker.SendAsync(10);
        await using LivingReader member = await LivingReader.StartAsync(broker.Address, isMember: true);
        await using LivingReader reader = await LivingReader.StartAsync(broker.Address, isMember: false);
        LivingReader[] readers = [member, reader];
        List<SimulatedDisk> saves = [broker.Save()];
        for (int round = 0; round < Rounds; round++)
        {
            await broker.SendAsync(random.Next(0, 300), areDurable: random.Next(3) == 0);
            if (random.Next(2) == 0)
                saves.Add(broker.Save());
            if (random.Next(2) == 0)
                await Task.WhenAll(readers.Select(one => HasReadAllAsync(broker, one)));
            await ChangeAsync(broker, random, saves);
        }

        await broker.SendAsync(20);
        await Task.WhenAll(readers.Select(one => HasReadAllAsync(broker, one)));
        await Eventually.TrueAsync(async () =>
        {
            GroupDescription group = await broker.Client.Admin.DescribeGroupAsync(
                LivingReader.Group, cancellationToken: TestContext.Current.CancellationToken);
            return group.Queues.Count == Queues && group.Queues.All(static queue => queue.Committed == queue.End);
        });

        // A member begins where the group stands in a history that had read on before: only a reader never jumps.
        IsInOrder(await broker.ReadAllAsync(), reader);
    }

    private static Task ChangeAsync(ForkingBroker broker, Random random, List<SimulatedDisk> saves) =>
        random.Next(6) switch
        {
            0 => broker.KillAsync(),
            1 => broker.CutPowerAsync(),
            2 => broker.RestartAsync(),
            3 => Task.CompletedTask,
            _ => broker.KillAsync(putBack: saves[random.Next(saves.Count)]),
        };

    private static async Task HasReadAllAsync(ForkingBroker broker, LivingReader reader)
    {
        List<(int Queue, long Offset, int Value)> stored = await broker.ReadAllAsync();
        await Eventually.TrueAsync(() =>
        {
            if (reader.Reading.IsCompleted)
                reader.Reading.GetAwaiter().GetResult();
            return reader.Read.ToHashSet().IsSupersetOf(stored);
        }, "every stored message was read");
    }

    /// <summary>What survives was last read in its order: a message is only followed by one before it where the reader
    /// went back, and then by everything from there on.</summary>
    private static void IsInOrder(List<(int Queue, long Offset, int Value)> stored, LivingReader reader)
    {
        foreach (IGrouping<int, (int Queue, long Offset, int Value)> queue in stored.GroupBy(static one => one.Queue))
        {
            Dictionary<long, int> last = [];
            var read = reader.Read.Where(one => one.Queue == queue.Key).ToList();
            for (int i = 0; i < read.Count; i++)
            {
                last[read[i].Offset] = i;
                if (i > 0)
                    Assert.True(read[i].Offset <= read[i - 1].Offset + 1, $"passed over before {read[i]}");
            }

            Assert.All(queue, one => Assert.Equal(one.Value, read[last[one.Offset]].Value));
        }
    }
}
