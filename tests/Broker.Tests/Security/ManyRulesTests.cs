using EQueue.MessageStore;
using EQueue.Protocol;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Broker.Tests;

/// <summary>As many rules as there may be: what they decide, and what they take.</summary>
public sealed class ManyRulesTests
{
    private const string Worker = "user:worker";

    /// <summary>A snapshot with 10,000 rules of names of 30 characters has about 1 MB.</summary>
    private const long MostSnapshotBytes = 2 << 20;

    [Fact]
    public void GivenRulesThatComeAndGo_WhenNamesAreAsked_ThenTheIndexDecidesAsReadingAllOfThemWould()
    {
        const int Seed = 20261127;
        var random = new Random(Seed);
        var rules = new HashSet<AccessRule>();
        SecurityBook book = SecurityBook.Empty.With(new UserRecord("worker", false, null, ["staff"]));
        for (int i = 0; i < 4_000; i++)
        {
            AccessRule rule = NewRule(random);
            bool isRemoved = random.Next(3) == 0 && rules.Count > 0;
            if (isRemoved)
                rule = rules.ElementAt(random.Next(rules.Count));
            book = isRemoved ? book.Without(rule) : book.With(rule);
            _ = isRemoved ? rules.Remove(rule) : rules.Add(rule);
            string name = NewName(random);
            var permission = (Permission)random.Next((int)Permission.Describe, (int)Permission.Administer);
            AccessVerdict verdict = book.Decide(Worker, permission, ResourceKind.Topic, name);
            Assert.True(
                verdict.IsAllowed == IsAllowed(rules, permission, name),
                $"Seed {Seed}, step {i}: {permission} {name} is allowed: {verdict.IsAllowed}, by {verdict.Rule}");
            if (rules.Count > 0 && verdict.Rule is { } decides)
                Assert.Contains(decides, rules);
        }
    }

    [Fact]
    public async Task GivenAsManyRulesAsMayBe_WhenTheBrokerStarts_ThenTheyDecideAreListedAndOneMoreIsRefused()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        AccessRule[] rules =
        [
            .. Enumerable.Range(0, SecurityTable.MaxRules)
                .Select(i => new AccessRule(
                    RuleEffect.Allow, Worker, Permission.Read, ResourceKind.Topic, $"team-{i:D5}.orders.of.the.day*")),
        ];
        await using (QueueStore store = await QueueStore.OpenAsync(
            options.EffectiveStore, new BrokerState(), NullLoggerFactory.Instance, TimeProvider.System,
            CancellationToken.None))
        {
            foreach (AccessRule[] some in rules.Chunk(1_000))
                await store.AppendStateAsync([.. some.Select(RuleRecord.ToEntry)], CancellationToken.None);
        }

        // From the log first, from a snapshot afterwards.
        await using TestBroker broker = await (await TestBroker.StartAsync(options)).RestartAsync();
        Assert.InRange(
            Directory.GetFiles(options.DataDirectory, "*.state", SearchOption.AllDirectories)
                .Max(static file => new FileInfo(file).Length),
            rules.Length, MostSnapshotBytes);
        await using TestPeer owner = await broker.ConnectAsync();
        Assert.Equal(
            rules.Select(static rule => rule.ToString()).Order(StringComparer.Ordinal),
            (await ListAsync(owner)).Select(static rule => rule.ToString()));
        Assert.True(await MayReadAsync(owner, "team-00000.orders.of.the.day"));
        Assert.True(await MayReadAsync(owner, "team-09999.orders.of.the.day.more"));
        Assert.False(await MayReadAsync(owner, "team-10000.orders.of.the.day"));

        AccessRule more = rules[0] with { Effect = RuleEffect.Deny };
        EQueueException full = await owner.RefusalAsync(new SetRuleRequest(more, false));
        Assert.Equal(ErrorCode.LimitReached, full.Code);
        Assert.Contains("10000 rules, the most that one may have: a fixed limit", full.Message);
        await owner.InvokeAsync(new SetRuleRequest(rules[1], true));
        await owner.InvokeAsync(new SetRuleRequest(more, false));
        Assert.False(await MayReadAsync(owner, "team-00000.orders.of.the.day"));
        Assert.False(await MayReadAsync(owner, "team-00001.orders.of.the.day"));
    }

    private static async Task<List<AccessRule>> ListAsync(TestPeer owner)
    {
        var all = new List<AccessRule>();
        ListRulesResponse page;
        do
        {
            page = await owner.InvokeAsync(new ListRulesRequest(all.Count == 0 ? null : all[^1].ToString(), 1_000));
            all.AddRange(page.Rules);
        }
        while (page.HasMore);
        return all;
    }

    private static async Task<bool> MayReadAsync(TestPeer owner, string topic) => (await owner.InvokeAsync(
        new TestRuleRequest(Worker, Permission.Read, ResourceKind.Topic, topic))).IsAllowed;

    private static bool IsAllowed(HashSet<AccessRule> rules, Permission permission, string name)
    {
        bool Fits(AccessRule rule) => rule.Resource == ResourceKind.Topic
            && (rule.Name == name
                || (rule.Name.EndsWith('*') && name.StartsWith(rule.Name[..^1], StringComparison.Ordinal)))
            && (rule.Permission == permission || rule.Permission == Permission.All
                || (permission == Permission.Describe && rule.Effect == RuleEffect.Allow));
        return rules.Count == 0
            || (rules.Any(rule => rule.Effect == RuleEffect.Allow && Fits(rule) && IsOfWorker(rule))
                && !rules.Any(rule => rule.Effect == RuleEffect.Deny && Fits(rule) && IsOfWorker(rule)));
    }

    private static bool IsOfWorker(AccessRule rule) => rule.Principal is Worker or "group:staff" or "*";

    private static AccessRule NewRule(Random random) => new(
        random.Next(4) == 0 ? RuleEffect.Deny : RuleEffect.Allow,
        random.GetItems([Worker, "group:staff", "*", "user:other", "group:others"], 1)[0],
        random.GetItems(Enum.GetValues<Permission>(), 1)[0],
        random.Next(8) == 0 ? ResourceKind.Group : ResourceKind.Topic,
        NewName(random) + (random.Next(2) == 0 ? "*" : ""));

    /// <summary>Short, of few characters, so that many begin as others do; empty only with a star.</summary>
    private static string NewName(Random random) =>
        new(random.GetItems("ab.".AsSpan(), random.Next(1, 6)));
}
