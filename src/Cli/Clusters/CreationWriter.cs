using EQueue.Cli.Output;
using EQueue.Cluster.Etcd;

namespace EQueue.Cli.Clusters;

/// <summary>Prints a cluster that was created, and how its nodes are started.</summary>
internal sealed class CreationWriter(CliStreams streams, bool isJson)
{
    /// <param name="name">The cluster's name.</param>
    /// <param name="record">Who it is.</param>
    /// <param name="nodes">Its nodes.</param>
    /// <param name="starts">The command lines that start them.</param>
    /// <param name="data">The directory that the first node has now; null when its log is new.</param>
    public void Write(
        string name, ClusterRecord record, IReadOnlyList<string> nodes, IReadOnlyList<string> starts, string? data = null)
    {
        string flush = NodeStarts.FlushText(record.IsSync);
        if (isJson)
        {
            JsonLine.Write(streams.Output, json =>
            {
                json.WriteString("name", name);
                json.WriteString("clusterId", record.ClusterId);
                json.WriteString("storeId", record.StoreId);
                json.WriteString("logId", record.LogId);
                json.WriteString("created", JsonText.Time(record.Created));
                json.WriteString("flush", flush);
                if (data is not null) json.WriteString("data", data);
                json.WriteStartArray("nodes");
                foreach (string node in nodes) json.WriteStringValue(node);
                json.WriteEndArray();
                json.WriteStartArray("starts");
                foreach (string start in starts) json.WriteStringValue(start);
                json.WriteEndArray();
            });
            return;
        }

        using var writer = new StreamWriter(streams.Output, leaveOpen: true) { NewLine = "\n" };
        writer.WriteLine(data is null
            ? $"Created cluster {name} with {Count(nodes)} {string.Join(", ", nodes)} and flush policy {flush}."
            : $"{data} is node {nodes[0]}'s now: the first of cluster {name}, which has {Count(nodes)} "
                + $"{string.Join(", ", nodes)} and flush policy {flush}.");
        writer.WriteLine(data is null
            ? $"Start {nodes[0]} first: it begins the log. The others copy it. On one machine:"
            : $"Start {nodes[0]} first: it has the log and takes messages at once. The others copy it. On one machine:");
        foreach (string start in starts) writer.WriteLine($"  {start}");
        writer.WriteLine(
            "On several machines: Server:Listen with an address that the others reach, Cluster:SecretFile and Server:Tls:Certificate.");
    }

    private static string Count(IReadOnlyList<string> nodes) => nodes.Count == 1 ? "the node" : "the nodes";
}
