using System.Diagnostics;
using EQueue.Cluster.Etcd;
using EQueue.Support;

namespace EQueue.Cluster.Tests.Etcd;

/// <summary>Three members, of which some are away. One test, since a start takes a second: each part ends with all
/// three.</summary>
public sealed class EtcdTrioTests
{
    private static readonly EtcdKeys Key = EtcdKeys.One("k");

    private static CancellationToken None => Shard.None;

    [Fact]
    public async Task GivenThreeMembers_WhenOneIsKilledOneIsSilentAndThenTwoAreGone_ThenTheOthersServeWhileTheyAreMost()
    {
        await using EtcdTrio trio = await EtcdTrio.StartAsync();
        await using var etcd = new EtcdClient(EtcdServer.OptionsFor(trio.Addresses));
        await using EtcdClient patient = EtcdServer.ClientOf(EtcdServer.OptionsFor(trio.Addresses));
        Shard shard = await Shard.BeginAsync(patient);

        // Killed: the first one, which is asked first and may be etcd's leader.
        await trio[0].KillAsync();
        await Eventually.TrueAsync(() => WritesAsync(etcd));
        await trio.RestartAsync(0);
        await trio[0].ReadyAsync();

        // Silent: the one that answered last. Forty calls would take 20 s if each waited for it.
        int last = await LastAsync(trio, etcd);
        trio[last].Pause();
        await Eventually.TrueAsync(() => WritesAsync(etcd));
        long began = Stopwatch.GetTimestamp();
        for (int call = 0; call < 40; call++)
            await WritesAsync(etcd);
        Assert.InRange(Stopwatch.GetElapsedTime(began), TimeSpan.Zero, TimeSpan.FromSeconds(15));
        trio[last].Resume();
        await trio[last].ReadyAsync();

        // No majority: each member is asked for half a second.
        await trio[0].KillAsync();
        await trio[1].KillAsync();
        began = Stopwatch.GetTimestamp();
        EtcdException failure = await Assert.ThrowsAsync<EtcdException>(() => etcd.RangeAsync(Key, None));
        Assert.Equal(EtcdTrouble.Unavailable, failure.Kind);
        Assert.All(trio.Addresses, one => Assert.Contains($"{one}", failure.Message, StringComparison.Ordinal));
        Assert.InRange(Stopwatch.GetElapsedTime(began), TimeSpan.Zero, TimeSpan.FromSeconds(15));
        await Task.WhenAll(trio.RestartAsync(0), trio.RestartAsync(1));
        await Eventually.TrueAsync(() => WritesAsync(etcd));
        Assert.Equal(shard.SeatA, Assert.Single((await shard.ReadAsync()).State!.Seats));
    }

    private static async Task<bool> WritesAsync(EtcdClient etcd)
    {
        try
        {
            return (await etcd.TransactAsync([], [EtcdOperation.Put("k", [1])], [], None)).Succeeded;
        }
        catch (EtcdException failure) when (failure.Kind == EtcdTrouble.Unavailable)
        {
            return false;
        }
    }

    /// <summary>Which member the client asks first: the one that has answered last.</summary>
    private static async Task<int> LastAsync(EtcdTrio trio, EtcdClient etcd)
    {
        await Eventually.TrueAsync(() => WritesAsync(etcd));
        return Array.IndexOf(trio.Addresses, etcd.First);
    }
}
