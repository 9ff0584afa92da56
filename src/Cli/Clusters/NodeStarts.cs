using System.Globalization;

namespace EQueue.Cli.Clusters;

/// <summary>How the nodes of a cluster are started on one machine.</summary>
internal static class NodeStarts
{
    private const int FirstPort = 9490;

    /// <summary>The flush policy as it is written.</summary>
    public static string FlushText(bool isSync) => isSync ? "sync" : "async";

    /// <summary>A command line for each node: two ports and a data directory of its own.</summary>
    /// <param name="nodes">Their names.</param>
    /// <param name="isSync">The cluster's flush policy.</param>
    /// <param name="settings">Which cluster, as settings of equeue-server.</param>
    /// <param name="known">The node that has a data directory already, and that; null: none has.</param>
    public static string[] Of(
        IReadOnlyList<string> nodes, bool isSync, string settings, (string Node, string Directory)? known = null) =>
    [
        .. nodes.Select((node, number) =>
        {
            int port = FirstPort + (2 * number);
            string data = known is { } one && one.Node == node ? one.Directory : $"data-{node}";
            string flush = isSync ? "" : $" --flush {FlushText(isSync)}";
            return string.Create(
                CultureInfo.InvariantCulture,
                $"equeue-server --data {data} --listen 127.0.0.1:{port} --admin 127.0.0.1:{port + 1}{flush} "
                + $"--Cluster:Node {node} {settings}");
        }),
    ];
}
