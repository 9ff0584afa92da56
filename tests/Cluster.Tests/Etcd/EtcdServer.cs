using EQueue.Cluster.Etcd;
using EQueue.Support;

namespace EQueue.Cluster.Tests.Etcd;

/// <summary>An etcd of one member, for the tests of one class. Each test takes a cluster of its own name.</summary>
public sealed class EtcdServer : IAsyncLifetime
{
    private const int MostStarts = 5;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private readonly string[] _options;
    private EtcdProcess? _process;
    private EtcdClient? _client;

    public EtcdServer()
        : this([])
    {
    }

    internal EtcdServer(params string[] options) => _options = options;

    internal EtcdProcess Process => Of(_process);

    internal EtcdClient Client => Of(_client);

    public async ValueTask InitializeAsync()
    {
        // A fixture cannot skip: its tests do, when they ask for what is not there.
        for (int start = 1; _client is null && EtcdProcess.IsInstalled; start++)
        {
            int[] ports = FreePorts.Take(2);
            _process = new EtcdProcess("only", ports[0], ports[1], _options);
            try
            {
                await _process.StartAsync(_process.Member);
                await _process.ReadyAsync();
                _client = ClientOf(OptionsFor(_process.Address));
            }
            catch (EtcdNotStartedException) when (start < MostStarts)
            {
                await _process.DisposeAsync();
            }
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (_client is not null)
            await _client.DisposeAsync();
        if (_process is not null)
            await _process.DisposeAsync();
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

    /// <summary>A client that waits for as long as a busy machine may need.</summary>
    internal static EtcdClient ClientOf(ClusterOptions options, CollectedLog? log = null)
        => new(options, Patience, log);

    internal static ClusterOptions OptionsFor(params Uri[] members) => new() { Node = "a", Etcd = members };

    private static T Of<T>(T? started)
        where T : class
    {
        EtcdProcess.SkipWithoutEtcd();
        return started!;
    }
}
