using System.Text.Json;
using System.Text.Json.Serialization;

namespace EQueue.Cluster.Etcd;

// The values of the keys. A change of one of them is a new version: an older program must not pass over what it does
// not know.

internal interface IVersioned
{
    int Version { get; }
}

internal sealed record ClusterJson(
    int Version, Guid ClusterId, Guid StoreId, Guid LogId, DateTimeOffset Created, int ShardCount, string Flush)
    : IVersioned;

internal sealed record NamesJson(int Version, string[] Nodes) : IVersioned;

internal sealed record NodeJson(int Version, string Life, string Address) : IVersioned;

internal sealed record NonceJson(int Version, string Nonce) : IVersioned;

internal sealed record SeatJson(string Node, string Life);

internal sealed record StateJson(int Version, int Epoch, SeatJson? Leader, SeatJson[] Seats, int Min, string Nonce)
    : IVersioned;

/// <summary>Strict: nothing unknown, nothing repeated, nothing left out.</summary>
[JsonSourceGenerationOptions(JsonSerializerDefaults.Strict, PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(ClusterJson))]
[JsonSerializable(typeof(NamesJson))]
[JsonSerializable(typeof(NodeJson))]
[JsonSerializable(typeof(NonceJson))]
[JsonSerializable(typeof(StateJson))]
internal sealed partial class RecordJson : JsonSerializerContext;
