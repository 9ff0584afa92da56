using EQueue.Replication;
using Microsoft.Extensions.Logging;

namespace EQueue.Cluster;

/// <summary>This node's connections to the other nodes of a shard, as etcd says where they are.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class PeerLinks(
    PeerNames names, PeerSecret secret, PeerLinkOptions options, Action<string> unreachable, ILoggerFactory loggers)
    : IAsyncDisposable
{
    private readonly Lock _lock = new();
    private readonly Dictionary<string, PeerLink> _links = new(StringComparer.Ordinal);
    private readonly List<Task> _retired = [];
    private bool _isDisposed;

    /// <summary>Takes the addresses of the nodes as they are now.</summary>
    public void Take(IReadOnlyDictionary<string, string> addresses)
    {
        lock (_lock)
        {
            if (_isDisposed)
                return;
            foreach ((string node, string address) in addresses)
            {
                if (node == names.Node)
                    continue;
                if (_links.TryGetValue(node, out PeerLink? known))
                {
                    if (known.Address == address)
                        continue;
                    _retired.Add(known.DisposeAsync().AsTask());
                }

                _links[node] = Open(node, address);
            }
        }
    }

    /// <summary>The connection to a node; null when etcd does not know where it is.</summary>
    public PeerLink? Find(string node)
    {
        lock (_lock)
            return _links.GetValueOrDefault(node);
    }

    /// <summary>Says a message to a node, or drops it.</summary>
    public void Send(string node, PeerMessage message) => Find(node)?.Send(message);

    /// <summary>Completes when nothing waits to be taken by the other nodes.</summary>
    public Task WhenDrained()
    {
        lock (_lock)
            return Task.WhenAll(_links.Values.Select(link => link.WhenDrained()));
    }

    /// <summary>A connection of its own to a node, for files; the caller disposes it.</summary>
    public PeerLink OpenBulk(string node, string address) =>
        new(names, node, address, secret, options, null, loggers);

    public async ValueTask DisposeAsync()
    {
        Task[] endings;
        lock (_lock)
        {
            _isDisposed = true;
            endings = [.. _retired, .. _links.Values.Select(link => link.DisposeAsync().AsTask())];
            _links.Clear();
        }

        await Task.WhenAll(endings).ConfigureAwait(false);
    }

    private PeerLink Open(string node, string address)
    {
        var link = new PeerLink(names, node, address, secret, options, unreachable, loggers);
        link.Start();
        return link;
    }
}
