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
    /// <param name="adopted">The node that has the log already, and its directory; null when the log is new.</param>
    public void Write(
        string name,
        ClusterRecord record,
        IReadOnlyList<string> nodes,
        IReadOnlyList<string> starts,
        (string Node, string Directory)? adopted = null)
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
                json.WriteString("created", BodyTime.Text(record.Created));
                json.WriteString("flush", flush);
                if (adopted is { Directory: var data })
                    json.WriteString("data", data);
                json.WriteStartArray("nodes");
                foreach (string node in nodes)
                    json.WriteStringValue(node);
                json.WriteEndArray();
                json.WriteStartArray("starts");
                foreach (string start in starts)
                    json.WriteStringValue(start);
                json.WriteEndArray();
            });
            return;
        }

        using var writer = new StreamWriter(streams.Output, leaveOpen: true) { NewLine = "\n" };
        string first = adopted?.Node ?? nodes[0];
        string all = $"{Count(nodes)} {string.Join(", ", nodes)} and flush policy {flush}";
        writer.WriteLine(adopted is { } one
            ? $"Created cluster {name} with {all}; {one.Directory} is node {one.Node}'s."
            : $"Created cluster {name} with {all}.");
        writer.WriteLine(adopted is null
            ? $"Start {first} first: it begins the log. The others copy it. On one machine:"
            : $"Start {first} first: it has the log and takes messages at once. The others copy it. On one machine:");
        foreach (string start in starts)
            writer.WriteLine($"  {start}");
        writer.WriteLine(
            "On several machines: Server:Listen with an address that the others reach, Cluster:SecretFile and "
            + "Server:Tls:Certificate.");
    }

    private static string Count(IReadOnlyList<string> nodes) => nodes.Count == 1 ? "the node" : "the nodes";
}
