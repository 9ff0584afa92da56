using System.Text.Json;

namespace EQueue.Load.Clusters;

/// <summary>What <c>equeue cluster status --json</c> says.</summary>
/// <param name="Epoch">It rises with each change of the leader.</param>
/// <param name="Leader">The node that leads; null when there is none.</param>
/// <param name="IsHealthy">Messages are taken, and every node has a seat.</param>
internal sealed record ClusterState(int Epoch, string? Leader, bool IsHealthy)
{
    public static ClusterState Read(string json)
    {
        using var document = JsonDocument.Parse(json);
        JsonElement root = document.RootElement;
        return new ClusterState(
            root.GetProperty("epoch").GetInt32(),
            root.GetProperty("leader").GetString(),
            root.GetProperty("healthy").GetBoolean());
    }
}
