using EQueue.Cluster.Etcd;
using EQueue.Replication;

namespace EQueue.Cluster.Tests.Etcd;

public sealed class ShardStartTests(EtcdServer server) : IClassFixture<EtcdServer>
{
    private static CancellationToken None => Shard.None;

    [Fact]
    public async Task GivenACluster_WhenAnotherOfItsNameIsCreated_ThenTheFirstStays()
    {
        Shard shard = await Shard.CreateAsync(server.Client);

        bool created = await shard.A.CreateAsync(Shard.Record with { ClusterId = Guid.NewGuid() }, ["x"], null, None);

        Assert.False(created);
        ClusterView view = (await shard.A.ReadAsync(None))!;
        Assert.Equal(Shard.Record, view.Cluster);
        Assert.Equal(["a", "b", "c"], view.Nodes);
    }

    [Fact]
    public async Task GivenAnAnswerThatWasLost_WhenTheSameClusterIsCreatedAgain_ThenItIsCreated()
    {
        await using var proxy = new AnswerProxy(server.Process.Address);
        await using EtcdClient etcd = EtcdServer.ClientOf(EtcdServer.OptionsFor(proxy.Uri));
        var shard = new EtcdShard(etcd, Shard.NewName(), null);
        Task swallowed = proxy.Swallow();
        EtcdException lost =
            await Assert.ThrowsAsync<EtcdException>(() => shard.CreateAsync(Shard.Record, ["a"], null, None));
        await swallowed;
        proxy.Pass();

        Assert.Equal(EtcdTrouble.Unavailable, lost.Kind);
        Assert.True(await shard.CreateAsync(Shard.Record, ["a"], null, None));
    }

    [Fact]
    public async Task GivenTheKeysOfAClusterWithoutItsFirst_WhenOneIsCreated_ThenTheKeyThatIsInTheWayIsNamed()
    {
        Shard shard = await Shard.CreateAsync(server.Client);
        await shard.DeleteAsync(EtcdKeys.One(shard.Keys.Cluster));

        EtcdException failure = await Assert.ThrowsAsync<EtcdException>(
            () => shard.A.CreateAsync(Shard.Record, ["a"], null, None));

        Assert.Equal(EtcdTrouble.Malformed, failure.Kind);
        Assert.Contains(shard.Keys.Node("a"), failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAStateAtCreation_WhenTheClusterIsRead_ThenItIsThereWithItsEpoch()
    {
        var shard = new EtcdShard(server.Client, Shard.NewName(), null);
        Seat seat = Shard.NewSeat("a");
        var state = new ShardState(7, seat, [seat], 1, Shard.NewNonce());

        Assert.True(await shard.CreateAsync(Shard.Record, ["a", "b"], state, None));

        ShardView view = (await shard.ReadAsync(None))!.Shard;
        Assert.Equal(state, view.State);
        Assert.Equal(state.Nonce, view.History[7]);
    }

    [Theory]
    [InlineData("")]
    [InlineData("a,a")]
    [InlineData("a b")]
    public async Task GivenWrongNamesOfNodes_WhenAClusterIsCreated_ThenTheyAreRefused(string names)
    {
        var shard = new EtcdShard(server.Client, Shard.NewName(), null);
        string[] nodes = names.Split(',', StringSplitOptions.RemoveEmptyEntries);

        await Assert.ThrowsAsync<ArgumentException>(() => shard.CreateAsync(Shard.Record, nodes, null, None));

        Assert.Null(await shard.ReadAsync(None));
    }

    [Fact]
    public async Task GivenANodeThatIsNotOfTheCluster_WhenItPutsItsKey_ThenItIsRefusedAndNothingIsWritten()
    {
        Shard shard = await Shard.CreateAsync(server.Client);

        EtcdException failure = await Assert.ThrowsAsync<EtcdException>(
            () => shard.Node("d").PutNodeAsync(Shard.NewSeat("d").Life, "d:9490", None));

        Assert.Equal(EtcdTrouble.Refused, failure.Kind);
        Assert.Contains("a, b, c", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("d", (await shard.ReadAsync()).Lives.Keys);
    }

    [Fact]
    public async Task GivenNoCluster_WhenANodePutsItsKey_ThenItIsToldSo()
    {
        var shard = new EtcdShard(server.Client, Shard.NewName(), "a");

        EtcdException failure = await Assert.ThrowsAsync<EtcdException>(
            () => shard.PutNodeAsync(Shard.NewSeat("a").Life, "a:9490", None));

        Assert.Equal(EtcdTrouble.Refused, failure.Kind);
        Assert.Contains("not created", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenANextLife_WhenItPutsItsKey_ThenTheFormerOneCannotHideItAgain()
    {
        Shard shard = await Shard.CreateAsync(server.Client);
        Life next = Shard.NewSeat("a").Life;

        Assert.True(await shard.A.PutNodeAsync(shard.SeatA.Life, "127.0.0.1:9490", None));
        Assert.True(await shard.Node("a").PutNodeAsync(next, "127.0.0.1:9491", None));

        Assert.False(await shard.A.PutNodeAsync(shard.SeatA.Life, "127.0.0.1:9490", None));
        Assert.Equal(next, (await shard.ReadAsync()).Lives["a"]);
    }

    [Fact]
    public async Task GivenAPutWhoseAnswerIsLost_WhenItIsRepeated_ThenTheKeyIsPut()
    {
        await using var proxy = new AnswerProxy(server.Process.Address);
        await using EtcdClient etcd = EtcdServer.ClientOf(EtcdServer.OptionsFor(proxy.Uri));
        Shard shard = await Shard.CreateAsync(etcd);
        EtcdShard b = shard.Node("b");
        Life first = Shard.NewSeat("b").Life;
        Life second = Shard.NewSeat("b").Life;
        Assert.True(await b.PutNodeAsync(first, "b:9490", None));
        Task swallowed = proxy.Swallow();
        await Assert.ThrowsAsync<EtcdException>(() => b.PutNodeAsync(second, "b:9490", None));
        await swallowed;
        proxy.Pass();

        Assert.True(await b.PutNodeAsync(second, "b:9490", None));
        Assert.Equal(second, (await shard.ReadAsync()).Lives["b"]);
    }

    [Fact]
    public async Task GivenTheFirstNode_WhenItBegins_ThenItHoldsTheOnlySeatAndCannotBeginAgainWithAnother()
    {
        Shard shard = await Shard.CreateAsync(server.Client);

        Assert.True(await shard.A.TryBeginAsync(shard.SeatA, None));

        Assert.Equal(new ShardState(0, default, [shard.SeatA], 1, default), (await shard.ReadAsync()).State);
        EtcdShard next = shard.Node("a");
        Seat seat = Shard.NewSeat("a");
        Assert.True(await next.PutNodeAsync(seat.Life, "127.0.0.1:9490", None));
        Assert.False(await next.TryBeginAsync(seat, None));
        Assert.Equal(shard.SeatA, Assert.Single((await shard.ReadAsync()).State!.Seats));
    }

    [Fact]
    public async Task GivenAnotherNodeThanTheFirst_WhenItBegins_ThenItMayNot()
    {
        Shard shard = await Shard.CreateAsync(server.Client);
        EtcdShard b = shard.Node("b");
        Seat seat = Shard.NewSeat("b");
        Assert.True(await b.PutNodeAsync(seat.Life, "b:9490", None));

        Assert.False(await b.TryBeginAsync(seat, None));

        Assert.Null((await shard.ReadAsync()).State);
    }

    [Fact]
    public async Task GivenTwoLivesOfTheFirstNode_WhenBothBeginAtOnce_ThenOneAloneHasTheSeat()
    {
        for (int round = 0; round < 20; round++)
        {
            Shard shard = await Shard.CreateAsync(server.Client);
            Seat second = Shard.NewSeat("a");
            EtcdShard other = shard.Node("a");

            Task<bool> first = shard.A.TryBeginAsync(shard.SeatA, None);
            Assert.True(await other.PutNodeAsync(second.Life, "127.0.0.1:9490", None));
            bool[] begun = await Task.WhenAll(first, other.TryBeginAsync(second, None));

            Seat seat = Assert.Single((await shard.ReadAsync()).State!.Seats);
            Assert.Equal([seat == shard.SeatA, seat == second], begun);
        }
    }

    [Fact]
    public async Task GivenAStateThatWasLost_WhenTheFirstNodeBegins_ThenItMayNot()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        await shard.NextEpochAsync();
        await shard.DeleteAsync(EtcdKeys.One(shard.Keys.State));

        Assert.False(await shard.A.TryBeginAsync(shard.SeatA, None));

        Assert.Null((await shard.ReadAsync()).State);
    }

    [Fact]
    public async Task GivenABeginningWhoseAnswerWasLost_WhenItIsRepeated_ThenItHasBegun()
    {
        await using var proxy = new AnswerProxy(server.Process.Address);
        await using EtcdClient etcd = EtcdServer.ClientOf(EtcdServer.OptionsFor(proxy.Uri));
        Shard shard = await Shard.CreateAsync(etcd);
        Task swallowed = proxy.Swallow();
        await Assert.ThrowsAsync<EtcdException>(() => shard.A.TryBeginAsync(shard.SeatA, None));
        await swallowed;
        proxy.Pass();

        Assert.True(await shard.A.TryBeginAsync(shard.SeatA, None));
    }
}
