using EQueue.Support;

namespace EQueue.Cluster.Tests.Etcd;

/// <summary>An etcd of three members, in the order in which a client is given them.</summary>
internal sealed class EtcdTrio : IAsyncDisposable
{
    private const int MostStarts = 5;

    private readonly EtcdProcess[] _members;
    private readonly string _cluster;

    private EtcdTrio()
    {
        int[] ports = FreePorts.Take(6);
        _members = [.. Enumerable.Range(0, 3).Select(i => new EtcdProcess($"m{i}", ports[2 * i], ports[(2 * i) + 1]))];
        _cluster = string.Join(',', _members.Select(member => member.Member));
    }

    public EtcdProcess this[int index] => _members[index];

    public Uri[] Addresses => [.. _members.Select(member => member.Address)];

    public static async Task<EtcdTrio> StartAsync()
    {
        for (int start = 1; ; start++)
        {
            var trio = new EtcdTrio();
            try
            {
                foreach (EtcdProcess member in trio._members)
                    await member.StartAsync(trio._cluster);
                foreach (EtcdProcess member in trio._members)
                    await member.ReadyAsync();
                return trio;
            }
            catch (EtcdNotStartedException) when (start < MostStarts)
            {
                await trio.DisposeAsync();
            }
        }
    }

    /// <summary>Starts a member that was killed, on its data.</summary>
    public Task RestartAsync(int index) => _members[index].StartAsync(_cluster);

    public async ValueTask DisposeAsync()
    {
        foreach (EtcdProcess member in _members)
            await member.DisposeAsync();
    }
}
