namespace EQueue.Client.Tests;

/// <summary>When a batch that is not full leaves, as a table. Times are milliseconds; up to 4 requests may be in
/// flight.</summary>
public sealed class LeavingRuleTests
{
    private const int MaxInFlight = 4;
    private const long Never = LeavingRule.Never;

    /// <summary>What happened before, and when the batch leaves if nothing else happens.</summary>
    private static readonly Dictionary<string, Row> Rows = new(StringComparer.Ordinal)
    {
        ["nothing is in flight: at once"] = new(Leaves: 100, rule => Opened(rule, at: 100)),
        ["a request is in flight: not by time alone"] = new(Never, rule =>
        {
            rule.NoteSent(90);
            return Opened(rule, at: 100);
        }),
        ["the request is answered: at once"] = new(Leaves: 100, rule =>
        {
            rule.NoteSent(90);
            Batch batch = Opened(rule, at: 100);
            rule.NoteAnswered(90, 91);
            return batch;
        }),
        ["the request failed: at once"] = new(Leaves: 100, rule =>
        {
            rule.NoteSent(90);
            Batch batch = Opened(rule, at: 100);
            rule.NoteFailed();
            return batch;
        }),
        ["others never let it become quiet, and one answer is missing to its turn: not yet"] = new(Never, rule =>
        {
            rule.NoteSent(90);
            Batch batch = Opened(rule, at: 100);
            SendAndAnswer(rule, MaxInFlight);
            return batch;
        }),
        ["others never let it become quiet, and its turn has come: at once"] = new(Leaves: 100, rule =>
        {
            rule.NoteSent(90);
            Batch batch = Opened(rule, at: 100);
            SendAndAnswer(rule, MaxInFlight + 1);
            return batch;
        }),
        ["it waits for its linger, although nothing is in flight"] =
            new(Leaves: 105, rule => Opened(rule, at: 100), LingerMs: 5),
        ["it waits for its linger, although its turn has come"] = new(Leaves: 105, LingerMs: 5, Steps: rule =>
        {
            rule.NoteSent(90);
            Batch batch = Opened(rule, at: 100);
            SendAndAnswer(rule, MaxInFlight + 1);
            return batch;
        }),
        ["the way is long: a quarter of a round trip after the last request"] = new(Leaves: 125, rule =>
        {
            LearnWay(rule, roundTrip: 100);
            rule.NoteSent(100);
            return Opened(rule, at: 101);
        }),
        ["the way is long, and the linger longer than the pace"] = new(Leaves: 151, LingerMs: 50, Steps: rule =>
        {
            LearnWay(rule, roundTrip: 100);
            rule.NoteSent(100);
            return Opened(rule, at: 101);
        }),
        ["the way is long, and nothing is in flight: at once"] = new(Leaves: 101, rule =>
        {
            LearnWay(rule, roundTrip: 100);
            return Opened(rule, at: 101);
        }),
        ["the way is long, and there is no room in flight: the next answer tells"] = new(Never, rule =>
        {
            LearnWay(rule, roundTrip: 100);
            for (int i = 0; i < MaxInFlight; i++)
                rule.NoteSent(100);
            return Opened(rule, at: 101);
        }),
        ["one answer was slow, an earlier one quick: the way is short"] = new(Never, rule =>
        {
            LearnWay(rule, roundTrip: 1);
            LearnWay(rule, roundTrip: 100);
            rule.NoteSent(100);
            return Opened(rule, at: 101);
        }),
        ["the quick answer is twice 10 s old: the way is long"] = new(Leaves: 42_025, rule =>
        {
            LearnWay(rule, roundTrip: 1);
            rule.NoteSent(20_000);
            rule.NoteAnswered(20_000, 20_100);
            rule.NoteSent(40_000);
            rule.NoteAnswered(40_000, 40_100);
            rule.NoteSent(42_000);
            return Opened(rule, at: 42_001);
        }),
        ["an answer may have waited for room in a backlog: it tells nothing of the way"] =
            new(Never, KnowsTheWay: false, Steps: rule =>
            {
                LearnWay(rule, roundTrip: 100);
                rule.NoteSent(100);
                return Opened(rule, at: 101);
            }),
        ["continuations run: not before they end"] = new(Never, rule =>
        {
            rule.BeginHold(100);
            return Opened(rule, at: 101);
        }),
        ["continuations run, and the way is long: not before they end"] = new(Never, rule =>
        {
            LearnWay(rule, roundTrip: 100);
            rule.BeginHold(100);
            rule.NoteSent(100);
            return Opened(rule, at: 101);
        }),
        ["one of two continuations has ended: not yet"] = new(Never, rule =>
        {
            rule.BeginHold(100);
            Assert.False(rule.EndHold(rule.BeginHold(100)));
            return Opened(rule, at: 101);
        }),
        ["all continuations have ended: at once"] = new(Leaves: 101, rule =>
        {
            int hold = rule.BeginHold(100);
            Batch batch = Opened(rule, at: 101);
            Assert.True(rule.EndHold(hold));
            return batch;
        }),
        ["a continuation blocks for 5 ms: at once"] = new(Leaves: 101, rule =>
        {
            rule.BeginHold(100);
            Batch batch = Opened(rule, at: 101);
            rule.EndOverdueHolds(105);
            return batch;
        }),
        ["a continuation runs for less than 5 ms: not yet"] = new(Never, rule =>
        {
            rule.BeginHold(100);
            Batch batch = Opened(rule, at: 101);
            rule.EndOverdueHolds(104);
            Assert.Equal(105, rule.HoldEnd);
            return batch;
        }),
        ["a sender blocks: at once"] = new(Leaves: 101, rule =>
        {
            rule.BeginHold(100);
            Batch batch = Opened(rule, at: 101);
            rule.EndHolds();
            return batch;
        }),
        ["a continuation of a hold that was ended before says nothing about the next"] = new(Never, rule =>
        {
            int old = rule.BeginHold(100);
            rule.EndHolds();
            rule.BeginHold(102);
            Assert.False(rule.EndHold(old));
            return Opened(rule, at: 103);
        }),
    };

    public static TheoryData<string> Cases => [.. Rows.Keys];

    [Theory]
    [MemberData(nameof(Cases))]
    public void GivenWhatHappenedBefore_WhenABatchIsOpen_ThenTheRuleSaysWhenItLeaves(string name)
    {
        Row row = Rows[name];
        var rule = new LeavingRule(
            MaxInFlight, TimeSpan.FromMilliseconds(row.LingerMs), row.KnowsTheWay, ticksPerSecond: 1000);
        Batch batch = row.Steps(rule);

        Assert.Equal(row.Leaves, rule.NextDue(batch.Turn, batch.OpenedAt));
        Assert.False(rule.MayLeave(batch.Turn, batch.OpenedAt, row.Leaves - 1));
        Assert.Equal(row.Leaves != Never, rule.MayLeave(batch.Turn, batch.OpenedAt, Never - 1));
    }

    [Theory]
    [InlineData(100, 100, true)]
    [InlineData(100, 101, false)]
    public void GivenAOnewayBatch_WhenTheConnectionIsBusy_ThenItGathersForAMillisecond(
        long openedAt, long now, bool gathers) => Assert.Equal(gathers, NewRule().MayGatherOneway(openedAt, now));

    [Theory]
    [InlineData(100, 101, 104, false)]
    [InlineData(100, 101, 105, true)]
    [InlineData(101, 100, 200, false)]
    public void GivenAOnewayBatch_WhenAFullOneWaits_ThenItLeavesBeforeAYoungerOneOnceItIs5MsOld(
        long openedAt, long fullOpenedAt, long now, bool leaves) =>
        Assert.Equal(leaves, NewRule().LeavesBeforeFull(openedAt, fullOpenedAt, now));

    private static LeavingRule NewRule() => new(MaxInFlight, TimeSpan.Zero, knowsTheWay: true, ticksPerSecond: 1000);

    private static Batch Opened(LeavingRule rule, long at) => new(rule.NoteOpened(), at);

    /// <summary>At any time one request more is in flight.</summary>
    private static void SendAndAnswer(LeavingRule rule, int times)
    {
        for (int i = 0; i < times; i++)
        {
            rule.NoteSent(101);
            rule.NoteAnswered(101, 102);
        }
    }

    private static void LearnWay(LeavingRule rule, long roundTrip)
    {
        rule.NoteSent(0);
        rule.NoteAnswered(0, roundTrip);
    }

    private sealed record Batch(long Turn, long OpenedAt);

    private sealed record Row(
        long Leaves, Func<LeavingRule, Batch> Steps, int LingerMs = 0, bool KnowsTheWay = true);
}
