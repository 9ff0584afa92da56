using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Cluster.Tests;

/// <summary>What the rules see of the log.</summary>
public sealed class ReplicaLogViewTests
{
    [Fact]
    public void GivenAnEndThatWasLookedAtBeforeACut_WhenItComesLate_ThenItIsPassedOver()
    {
        var view = new ReplicaLogView(new Lock(), new RoomWatch(new StoreOptions { DataDirectory = "/" }));
        Assert.True(view.TryMove(TailAt(900), new LogPosition(900), view.Generation));
        int before = view.Generation;
        view.Cut(TailAt(400), new LogPosition(400));

        Assert.False(view.TryMove(TailAt(1000), new LogPosition(1000), before));
        Assert.Equal((new LogPosition(400), new LogPosition(400)), (view.Tail.End, view.Durable));
        Assert.True(view.TryMove(TailAt(500), new LogPosition(450), view.Generation));
        Assert.Equal((new LogPosition(500), new LogPosition(450)), (view.Tail.End, view.Durable));
    }

    private static ReplicaTail TailAt(long end) => new(new LogPosition(end), 1, new LogPosition(end - 48), 7);
}
