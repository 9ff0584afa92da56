using System.Text.Json.Serialization;

namespace EQueue.Cluster.Etcd;

// The bodies of etcd's JSON gateway (https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway/): bytes in base64, 64-bit
// numbers as text, a member that is zero or empty left out. Names are those of etcd's rpc.proto.

internal sealed record RangeBody(byte[] Key, byte[]? RangeEnd);

internal sealed record PutBody(byte[] Key, byte[] Value);

internal sealed record CompareBody(
    byte[] Key,
    byte[]? RangeEnd,
    string Target,
    string Result,
    long? ModRevision = null,
    long? CreateRevision = null,
    byte[]? Value = null);

internal sealed record OperationBody(
    RangeBody? RequestRange = null, PutBody? RequestPut = null, RangeBody? RequestDeleteRange = null);

internal sealed record TransactionBody(CompareBody[] Compare, OperationBody[] Success, OperationBody[] Failure);

internal sealed record LoginBody(string Name, string Password);

internal sealed record HeaderAnswer(long Revision);

internal sealed record KeyAnswer(byte[]? Key, byte[]? Value, long ModRevision);

internal sealed record RangeAnswer(HeaderAnswer? Header, KeyAnswer[]? Kvs, bool More);

internal sealed record OperationAnswer(RangeAnswer? ResponseRange);

internal sealed record TransactionAnswer(HeaderAnswer? Header, bool Succeeded, OperationAnswer[]? Responses);

internal sealed record LoginAnswer(string? Token);

internal sealed record FailureAnswer(string? Error, string? Message, int Code);

[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.SnakeCaseLower,
    DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    NumberHandling = JsonNumberHandling.AllowReadingFromString | JsonNumberHandling.WriteAsString)]
[JsonSerializable(typeof(RangeBody))]
[JsonSerializable(typeof(TransactionBody))]
[JsonSerializable(typeof(LoginBody))]
[JsonSerializable(typeof(RangeAnswer))]
[JsonSerializable(typeof(TransactionAnswer))]
[JsonSerializable(typeof(LoginAnswer))]
[JsonSerializable(typeof(FailureAnswer))]
internal sealed partial class GatewayJson : JsonSerializerContext;
