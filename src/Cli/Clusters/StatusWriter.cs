using System.Globalization;
using System.Text.Json;
using EQueue.Cli.Output;
using EQueue.Replication;

namespace EQueue.Cli.Clusters;

/// <summary>Prints how a cluster is.</summary>
internal sealed class StatusWriter(CliStreams streams)
{
    private static string RoleText(NodeRole role) => role switch
    {
        NodeRole.Leader => "leader",
        NodeRole.Seat => "seat",
        NodeRole.FormerSeat => "seat of a former start",
        NodeRole.NoSeat => "no seat",
        _ => "never started",
    };

    public void WriteText(ClusterStatus status)
    {
        using (var writer = new StreamWriter(streams.Output, leaveOpen: true) { NewLine = "\n" })
        {
            ShardState? state = status.State;
            string leader = state?.Leader.Node is { } name ? $"node {name}" : "no leader";
            writer.WriteLine($"cluster {status.Name} ({status.View.Cluster.ClusterId})");
            writer.WriteLine(state is null
                ? $"flush policy {Flush(status)}, the log has not begun"
                : string.Create(
                    CultureInfo.InvariantCulture,
                    $"flush policy {Flush(status)}, epoch {state.Epoch}, {leader}, "
                    + $"seats {string.Join(", ", state.Seats.Select(static seat => seat.Node))} "
                    + $"(at least {state.Min})"));
        }

        TableWriter.Write(
            streams,
            ["node", "address", "life", "role", "answers"],
            [
                .. status.Nodes.Select(static node => new[]
                {
                    node.Name, node.Address ?? "-", node.LifeText ?? "-", RoleText(node.Role), AnswerText(node),
                }),
            ]);
        using var last = new StreamWriter(streams.Output, leaveOpen: true) { NewLine = "\n" };
        last.WriteLine(StatusSentences.Of(status));
    }

    public void WriteJson(ClusterStatus status) => JsonLine.Write(streams.Output, json =>
    {
        json.WriteString("name", status.Name);
        json.WriteString("clusterId", status.View.Cluster.ClusterId);
        json.WriteString("storeId", status.View.Cluster.StoreId);
        json.WriteString("logId", status.View.Cluster.LogId);
        json.WriteString("created", BodyTime.Text(status.View.Cluster.Created));
        json.WriteString("flush", Flush(status));
        json.WriteNumber("epoch", status.State?.Epoch ?? 0);
        json.WriteString("leader", status.State?.Leader.Node);
        json.WriteStartArray("seats");
        foreach (Seat seat in status.State?.Seats ?? [])
            json.WriteStringValue(seat.Node);
        json.WriteEndArray();
        json.WriteNumber("minSeats", status.State?.Min ?? 0);
        json.WriteStartArray("nodes");
        foreach (NodeStatus node in status.Nodes)
            Write(json, node);
        json.WriteEndArray();
        json.WriteBoolean("takesMessages", status.TakesMessages);
        json.WriteBoolean("healthy", status.IsHealthy);
        json.WriteString("summary", StatusSentences.Of(status));
    });

    private static void Write(Utf8JsonWriter json, NodeStatus node)
    {
        json.WriteStartObject();
        json.WriteString("name", node.Name);
        json.WriteString("address", node.Address);
        json.WriteString("life", node.LifeText);
        json.WriteString("role", JsonNamingPolicy.CamelCase.ConvertName(node.Role.ToString()));
        json.WriteBoolean("answers", node.IsThere);
        if (node.Answer?.Told is { } told)
            json.WriteNumber("epoch", told.Epoch);
        else
            json.WriteNull("epoch");
        json.WriteBoolean("serves", node.Answer is { IsServing: true });
        json.WriteString("trouble", node.Answer?.Trouble);
        json.WriteEndObject();
    }

    private static string AnswerText(NodeStatus node) => node.Answer switch
    {
        null => "-",
        { Told: { } told } => string.Create(CultureInfo.InvariantCulture, $"epoch {told.Epoch}"),
        { Trouble: var trouble } => trouble ?? "-",
    };

    private static string Flush(ClusterStatus status) => NodeStarts.FlushText(status.View.Cluster.IsSync);
}
