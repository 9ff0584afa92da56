using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client.Tests.Clusters;

/// <summary>In which order a link tries the nodes of its cluster, and for how long each.</summary>
public sealed class ClusterRoundTests
{
    private static readonly ClientOptions Options = new() { ConnectTimeout = TimeSpan.FromMinutes(1) };
    private static readonly ServerAddress Given = new("given.example", 1);
    private static readonly ServerAddress Other = new("other.example", 1);
    private static readonly ServerAddress Named = new("named.example", 1);

    [Fact]
    public void GivenALeaderUnderANameThatLeadsNowhere_WhenTried_ThenNotForLongAndTheGivenAddressesComeBeforeItAgain()
    {
        (Cluster cluster, LinkPlan link) = NewLink(Given, Other);
        cluster.Learn(new WatchLeaderResponse(1, Named.ToString(), [Named.ToString()]), Named, teller: null);

        Assert.Equal(new ConnectTarget(Named.ToEndPoint(), TimeSpan.FromSeconds(1)), cluster.Next(link));
        cluster.Fail(link, "no such host");
        Assert.Equal(TimeSpan.Zero, cluster.PauseAfter(link, 1));
        for (int round = 0; round < 3; round++)
            Assert.Equal([Given, Other], TryRound(cluster, link));
    }

    [Fact]
    public void GivenALeaderOfAGivenAddress_WhenTried_ThenItComesFirstInEachRoundAndMayTakeAsLongAsABroker()
    {
        (Cluster cluster, LinkPlan link) = NewLink(Given, Other);
        cluster.Learn(new WatchLeaderResponse(1, Other.ToString(), []), Other, teller: null);
        Assert.Equal(new ConnectTarget(Other.ToEndPoint(), Timeout.InfiniteTimeSpan), cluster.Next(link));
        cluster.Fail(link, "reset");
        Assert.Equal(TimeSpan.Zero, cluster.PauseAfter(link, 1));

        // The name that leads nowhere has its turn once.
        Assert.Equal([Named, Given], TryRound(cluster, link));
        for (int round = 0; round < 3; round++)
            Assert.Equal([Other, Given], TryRound(cluster, link));
        Assert.Equal(
            $"{Other} leads the cluster at {Given}, {Other}, {Named}, as its nodes have told, and cannot be reached from "
            + $"here: {Given}: connection refused; {Other}: connection refused; {Named}: connection refused",
            cluster.Describe());
    }

    [Fact]
    public void GivenNodesThatKnowNoLeader_WhenDescribed_ThenItIsSaidThatNoneLeads()
    {
        (Cluster cluster, LinkPlan link) = NewLink(Given, Other);
        Assert.EndsWith("leads now: none has answered yet", cluster.Describe(), StringComparison.Ordinal);
        TryRound(cluster, link);
        Assert.StartsWith(
            $"No node of the cluster at {Given}, {Other}, {Named} leads now: {Given}: connection refused",
            cluster.Describe(),
            StringComparison.Ordinal);

        // One that answers that it does not lead is reached.
        cluster.Learn(new WatchLeaderResponse(1, Other.ToString(), []), Other, teller: null);
        TryRound(cluster, link, hears: true, out _);
        Assert.StartsWith("No node of the cluster", cluster.Describe(), StringComparison.Ordinal);
    }

    [Fact]
    public void GivenNodesThatAllRefuse_WhenRoundsFollow_ThenThePausesGrowAndStayBelowTheirBounds()
    {
        (Cluster cluster, LinkPlan link) = NewLink(Given, Other);
        for (int hears = 0; hears < 2; hears++)
        {
            for (int round = 0; round < 12; round++)
            {
                TryRound(cluster, link, hears == 1, out TimeSpan pause);
                Assert.InRange(pause.TotalMilliseconds, hears == 1 && round > 5 ? 250 : 0, hears == 1 ? 500 : 1_000);
            }
        }
    }

    private static (Cluster Cluster, LinkPlan Link) NewLink(params ServerAddress[] given)
    {
        var cluster = new Cluster(given[0], Options);
        foreach (ServerAddress address in given)
            cluster.AddNode(address, isGiven: true);
        cluster.AddNode(Named, isGiven: false);
        var link = new LinkPlan(Named, map: null, new ConnectReports(Options));
        link.Follow(cluster);
        return (cluster, link);
    }

    private static List<ServerAddress> TryRound(Cluster cluster, LinkPlan link) =>
        TryRound(cluster, link, hears: false, out _);

    private static List<ServerAddress> TryRound(Cluster cluster, LinkPlan link, bool hears, out TimeSpan pause)
    {
        List<ServerAddress> tried = [];
        string? words;
        do
        {
            cluster.Next(link);
            tried.Add(link.Round.Target);
            if (hears)
                cluster.Refuse(link);
            words = cluster.Fail(link, "connection refused");
            pause = cluster.PauseAfter(link, 1);
        }
        while (words is null);
        return tried;
    }
}
