using FsCheck;
using FsCheck.Fluent;

namespace EQueue.Broker.Tests.Groups;

/// <summary>Even, sticky, the same for the same. A failure prints FsCheck's seed.</summary>
public sealed class QueueAssignerTests
{
    private static readonly Config Many = Config.QuickThrowOnFailure.WithMaxTest(500);

    [Fact]
    public void GivenAnyTopics_WhenShared_ThenEachTopicIsEvenAndNobodyGetsWhatItDoesNotRead() => Check(seed =>
    {
        var random = new Random(seed);
        (AssignableTopic[] topics, ulong[] ranks) = Make(random, alike: false);
        int[][] targets = QueueAssigner.Assign(topics, ranks);
        for (int t = 0; t < topics.Length; t++)
        {
            if (topics[t].Subscribers.Length == 0)
            {
                Assert.All(targets[t], target => Assert.Equal(-1, target));
                continue;
            }

            Assert.All(targets[t], target => Assert.Contains(target, topics[t].Subscribers));
            int[] counts = [.. topics[t].Subscribers.Select(member => targets[t].Count(target => target == member))];
            Assert.True(counts.Max() - counts.Min() <= 1, $"topic {t}: {string.Join(" ", counts)}");
        }
    });

    [Fact]
    public void GivenMembersThatSubscribeAlike_WhenShared_ThenTheTotalsAreWithinOne() => Check(seed =>
    {
        (AssignableTopic[] topics, ulong[] ranks) = Make(new Random(seed), alike: true);
        int[] totals = Totals(QueueAssigner.Assign(topics, ranks), ranks.Length);
        Assert.True(totals.Max() - totals.Min() <= 1, string.Join(" ", totals));
    });

    [Fact]
    public void GivenAResult_WhenItIsPutInAgain_ThenNothingMoves() => Check(seed =>
    {
        (AssignableTopic[] topics, ulong[] ranks) = Make(new Random(seed), alike: seed % 2 == 0);
        int[][] once = QueueAssigner.Assign(topics, ranks);
        AssignableTopic[] again = [.. topics.Select((topic, t) => topic with { Had = once[t], Owners = once[t] })];
        Assert.Equal(once, QueueAssigner.Assign(again, ranks));
        Assert.Equal(once, QueueAssigner.Assign(topics, ranks));
    });

    [Fact]
    public void GivenOneTopic_WhenAMemberLeaves_ThenOnlyItsQueuesMove() => Check(seed =>
    {
        var random = new Random(seed);
        int members = random.Next(2, 9);
        ulong[] ranks = Ranks(members, random);
        int[] all = [.. Enumerable.Range(0, members)];
        int[] before = QueueAssigner.Assign([Fresh(all, random.Next(40))], ranks)[0];
        int gone = random.Next(members);
        int[] left = [.. all.Where(member => member != gone)];
        int[] after = QueueAssigner.Assign([new AssignableTopic(left, before, before)], ranks)[0];
        for (int queue = 0; queue < before.Length; queue++)
            Assert.True(before[queue] == gone || before[queue] == after[queue], $"queue {queue} moved");
    });

    [Fact]
    public void GivenOneTopic_WhenAMemberJoins_ThenOnlyItsShareMoves() => Check(seed =>
    {
        var random = new Random(seed);
        int members = random.Next(1, 9);
        ulong[] ranks = Ranks(members + 1, random);
        int[] old = [.. Enumerable.Range(0, members)];
        int queues = random.Next(60);
        int[] before = QueueAssigner.Assign([Fresh(old, queues)], ranks)[0];
        int[] after = QueueAssigner.Assign([new AssignableTopic([.. old, members], before, before)], ranks)[0];
        int moved = before.Zip(after).Count(pair => pair.First != pair.Second);
        Assert.Equal(after.Count(target => target == members), moved);
        Assert.InRange(moved, queues / (members + 1), (queues / (members + 1)) + 1);
    });

    [Fact]
    public void GivenMoreMembersThanQueues_WhenShared_ThenSomeHaveNothing()
    {
        int[] target = QueueAssigner.Assign([Fresh([0, 1, 2, 3], 2)], [1, 2, 3, 4])[0];
        Assert.Equal(2, target.Distinct().Count());
    }

    private static (AssignableTopic[] Topics, ulong[] Ranks) Make(Random random, bool alike)
    {
        int members = random.Next(1, 10);
        int[] all = [.. Enumerable.Range(0, members)];
        return (
            [
                .. Enumerable.Range(0, random.Next(1, 8)).Select(_ =>
                {
                    int queues = random.Next(20);
                    return new AssignableTopic(
                        alike ? all : [.. all.Where(_ => random.Next(3) > 0)],
                        [.. Enumerable.Range(0, queues).Select(_ => random.Next(-1, members))],
                        [.. Enumerable.Range(0, queues).Select(_ => random.Next(-1, members))]);
                }),
            ],
            Ranks(members, random));
    }

    private static AssignableTopic Fresh(int[] members, int queues)
    {
        int[] nobody = [.. Enumerable.Repeat(-1, queues)];
        return new AssignableTopic(members, nobody, nobody);
    }

    private static ulong[] Ranks(int count, Random random)
    {
        ulong[] ranks = [.. Enumerable.Range(0, count).Select(i => (ulong)i * 7)];
        random.Shuffle(ranks);
        return ranks;
    }

    private static int[] Totals(int[][] targets, int members) =>
        [.. Enumerable.Range(0, members).Select(member => targets.Sum(topic => topic.Count(one => one == member)))];

    private static void Check(Action<int> holds) =>
        Prop.ForAll(ArbMap.Default.ArbFor<int>(), seed =>
        {
            holds(seed);
            return true;
        }).Check(Many);
}
