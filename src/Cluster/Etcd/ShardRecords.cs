using System.Buffers;
using System.Globalization;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;
using EQueue.Replication;

namespace EQueue.Cluster.Etcd;

/// <summary>The values of the keys: JSON that a person can read with etcdctl, and that has one form alone.</summary>
/// <remarks>
/// What is read must be what would be written, byte for byte: transactions compare values, so another form of the
/// same state would never be found equal.
/// </remarks>
internal static class ShardRecords
{
    private const int Version = 1;
    private const int MostAddressLength = 300;
    private const string Sync = "sync";
    private const string Async = "async";

    private static readonly SearchValues<char> HexDigits = SearchValues.Create("0123456789abcdef");

    public static byte[] Write(ClusterRecord record) => JsonSerializer.SerializeToUtf8Bytes(
        new ClusterJson(
            Version, record.ClusterId, record.StoreId, record.LogId, record.Created.ToUniversalTime(),
            record.ShardCount, record.IsSync ? Sync : Async),
        RecordJson.Default.ClusterJson);

    public static byte[] Write(IReadOnlyList<string> names) => JsonSerializer.SerializeToUtf8Bytes(
        new NamesJson(Version, [.. names]), RecordJson.Default.NamesJson);

    public static byte[] Write(Life life, string address) => JsonSerializer.SerializeToUtf8Bytes(
        new NodeJson(Version, TextOf(life.Value), address), RecordJson.Default.NodeJson);

    public static byte[] Write(Nonce nonce) => JsonSerializer.SerializeToUtf8Bytes(
        new NonceJson(Version, TextOf(nonce.Value)), RecordJson.Default.NonceJson);

    public static byte[] Write(ShardState state) => JsonSerializer.SerializeToUtf8Bytes(
        new StateJson(
            Version,
            state.Epoch,
            state.Leader.Node is null ? null : JsonOf(state.Leader),
            [.. state.Seats.Select(JsonOf)],
            state.Min,
            TextOf(state.Nonce.Value)),
        RecordJson.Default.StateJson);

    public static ClusterRecord ReadCluster(EtcdValue found)
    {
        ClusterJson json = Read(found, RecordJson.Default.ClusterJson);
        Require(json.Flush is Sync or Async, found, $"flush must be {Sync} or {Async}");
        Require(json.ShardCount > 0, found, "there must be a shard");
        return new ClusterRecord(
            json.ClusterId, json.StoreId, json.LogId, json.Created, json.ShardCount, json.Flush == Sync);
    }

    public static IReadOnlyList<string> ReadNames(EtcdValue found)
    {
        NamesJson json = Read(found, RecordJson.Default.NamesJson);
        Require(AreNames(json.Nodes), found, "nodes must be 1 to 100 different names");
        return json.Nodes;
    }

    public static (Life Life, string Address) ReadNode(EtcdValue found)
    {
        NodeJson json = Read(found, RecordJson.Default.NodeJson);
        Require(IsAddress(json.Address), found, "address must be host:port");
        return (new Life(NumberOf(json.Life, found)), json.Address);
    }

    public static Nonce ReadNonce(EtcdValue found)
        => new(NumberOf(Read(found, RecordJson.Default.NonceJson).Nonce, found));

    public static ShardState ReadState(EtcdValue found)
    {
        StateJson json = Read(found, RecordJson.Default.StateJson);
        Require(json.Epoch >= 0, found, "epoch must not be negative");
        Require(json.Leader is null || json.Epoch > 0, found, "there is no leader in epoch 0");
        Require(json.Leader is not null || json.Seats.Length == 1, found, "without a leader there is one seat");
        Require(AreNames([.. json.Seats.Select(seat => seat?.Node!)]), found, "seats must be those of different nodes");
        Require(json.Min >= 1 && json.Min <= json.Seats.Length, found, "min must be 1 to the number of seats");
        return new ShardState(
            json.Epoch,
            json.Leader is { } leader ? SeatOf(leader, found) : default,
            [.. json.Seats.Select(seat => SeatOf(seat, found))],
            json.Min,
            new Nonce(NumberOf(json.Nonce, found)));
    }

    /// <summary>Whether these can be the nodes of a shard.</summary>
    public static bool AreNames(IReadOnlyList<string> names)
        => names.Count is > 0 and <= ClusterOptions.MostNodes && names.All(ClusterOptions.IsName)
            && names.Distinct(StringComparer.Ordinal).Count() == names.Count;

    /// <summary>Whether this can be a node's address.</summary>
    public static bool IsAddress(string address)
    {
        int colon = address.LastIndexOf(':');
        return colon > 0 && address.Length <= MostAddressLength
            && ushort.TryParse(address.AsSpan(colon + 1), NumberStyles.None, CultureInfo.InvariantCulture, out _);
    }

    /// <summary>The failure of a key.</summary>
    public static EtcdException Unreadable(string key, string why, Exception? inner = null)
        => new(EtcdTrouble.Malformed, $"the key {key} of etcd cannot be read: {why}", inner);

    private static T Read<T>(EtcdValue found, JsonTypeInfo<T> type)
        where T : class, IVersioned
    {
        T record;
        try
        {
            record = JsonSerializer.Deserialize(found.Value, type) ?? throw new JsonException("null");
        }
        catch (JsonException exception)
        {
            throw Unreadable(found.Key, OtherVersion(found.Value) ?? exception.Message, exception);
        }

        if (record.Version != Version)
            throw Unreadable(found.Key, TextOfVersion(record.Version));
        Require(
            JsonSerializer.SerializeToUtf8Bytes(record, type).AsSpan().SequenceEqual(found.Value), found,
            "it is not in the form that EQueue writes");
        return record;
    }

    /// <summary>What is to be said when a record of another version has other members.</summary>
    private static string? OtherVersion(byte[] value)
    {
        try
        {
            using var document = JsonDocument.Parse(value);
            return document.RootElement.ValueKind == JsonValueKind.Object
                && document.RootElement.TryGetProperty("version", out JsonElement member)
                && member.ValueKind == JsonValueKind.Number
                && member.TryGetInt64(out long version)
                && version != Version
                    ? TextOfVersion(version)
                    : null;
        }
        catch (JsonException)
        {
            return null;
        }
    }

    private static string TextOfVersion(long version)
        => $"its version is {version}, and this program knows version {Version} alone";

    private static void Require(bool holds, EtcdValue found, string what)
    {
        if (!holds)
            throw Unreadable(found.Key, what);
    }

    private static SeatJson JsonOf(Seat seat) => new(seat.Node, TextOf(seat.Life.Value));

    private static Seat SeatOf(SeatJson json, EtcdValue found)
    {
        Require(ClusterOptions.IsName(json.Node), found, "a node must have a name");
        return new Seat(json.Node, new Life(NumberOf(json.Life, found)));
    }

    private static string TextOf(UInt128 value) => value.ToString("x32", CultureInfo.InvariantCulture);

    private static UInt128 NumberOf(string text, EtcdValue found)
    {
        Require(
            text.Length == 32 && !text.AsSpan().ContainsAnyExcept(HexDigits), found,
            "a life and a nonce are 32 hexadecimal digits in lower case");
        return UInt128.Parse(text, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
    }
}
