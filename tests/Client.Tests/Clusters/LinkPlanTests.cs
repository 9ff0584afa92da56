using EQueue.Protocol;

namespace EQueue.Client.Tests.Clusters;

/// <summary>When a link leaves what it has begun.</summary>
public sealed class LinkPlanTests
{
    private static readonly EQueueException Cause = new(ErrorCode.NotLeader, "the others know better");
    private static readonly ClientOptions Options = new();

    [Fact]
    public async Task GivenAnAttemptThatIsToBeLeft_WhenItIsAdmittedBefore_ThenItStays()
    {
        LinkPlan link = NewLink(out List<Exception>? left);
        link.Next();
        Action leave = link.Leaving(Cause);
        await AdmitAsync(link);
        leave();
        Assert.Empty(left);
        Assert.True(link.IsServed);
    }

    [Fact]
    public async Task GivenAnAttemptThatWasLeft_WhenItIsAdmittedAfterwards_ThenItIsRefused_AndTheNextIsNot()
    {
        LinkPlan link = NewLink(out List<Exception>? left);
        link.Next();
        link.Leaving(Cause)();
        Assert.Equal([Cause], left);
        EQueueException refused = await Assert.ThrowsAsync<EQueueException>(() => AdmitAsync(link));
        Assert.Equal(ErrorCode.NotLeader, refused.Code);

        link.Next();
        await AdmitAsync(link);
        Assert.True(link.IsServed);
    }

    [Fact]
    public async Task GivenAConnectionThatIsToBeLeft_WhenItStillIsTheSame_ThenItEnds_AndNotTheOneBehindIt()
    {
        LinkPlan link = NewLink(out List<Exception>? left);
        link.Next();
        await AdmitAsync(link);
        Action leave = link.Leaving(Cause);
        leave();
        Assert.Equal([Cause], left);

        link.Next();
        await AdmitAsync(link);
        leave();
        Assert.Single(left);
    }

    private static LinkPlan NewLink(out List<Exception> left)
    {
        List<Exception> causes = [];
        left = causes;
        return new LinkPlan(ServerAddress.ParseList("127.0.0.1:9490")[0], map: null, new ConnectReports(Options))
        {
            Anew = causes.Add,
        };
    }

    private static Task AdmitAsync(LinkPlan link) =>
        link.AdmitAsync(new HelloResponse(), () => throw new InvalidOperationException("It is no cluster.")).AsTask();
}
