using EQueue.Cluster.Etcd;

namespace EQueue.Cluster.Tests.Etcd;

/// <summary>An etcd of one member, for the tests of one class. Each test takes a cluster of its own name.</summary>
public sealed class EtcdServer : IAsyncLifetime
{
    private const int MostStarts = 5;

    private readonly string[] _options;
    private EtcdProcess? _process;
    private EtcdClient? _client;

    public EtcdServer()
        : this([])
    {
    }

    internal EtcdServer(params string[] options) => _options = options;

    internal EtcdProcess Process => _process!;

    internal EtcdClient Client => _client!;

    public async ValueTask InitializeAsync()
    {
        for (int start = 1; _client is null; start++)
        {
            int[] ports = EtcdProcess.FreePorts(2);
            _process = new EtcdProcess("only", ports[0], ports[1], _options);
            try
            {
                await _process.StartAsync(_process.Member);
                await _process.ReadyAsync();
                _client = new EtcdClient(OptionsFor(_process.Address));
            }
            catch (EtcdNotStartedException) when (start < MostStarts)
            {
                await _process.DisposeAsync();
            }
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (_client is not null) await _client.DisposeAsync();
        if (_process is not null) await _process.DisposeAsync();
    }

    internal static async Task<EtcdServer> StartAsync(params string[] options)
    {
        var server = new EtcdServer(options);
        await server.InitializeAsync();
        return server;
    }

    /// <summary>Ends it as <c>kill -9</c> does and starts it again.</summary>
    internal async Task RestartAsync()
    {
        await Process.KillAsync();
        await Process.StartAsync(Process.Member);
        await Process.ReadyAsync();
    }

    internal static ClusterOptions OptionsFor(params Uri[] members) => new() { Node = "a", Etcd = members };
}
