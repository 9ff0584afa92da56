using System.Net;
using System.Text.Json;

namespace EQueue.Cluster.Etcd;

/// <summary>What a member means that answers with another status than 200.</summary>
internal static class GatewayFailure
{
    // Codes of gRPC (https://grpc.github.io/grpc/core/md_doc_statuscodes.html) that etcd's gateway passes on.
    private const int InvalidArgument = 3;
    private const int PermissionDenied = 7;
    private const int ResourceExhausted = 8;
    private const int FailedPrecondition = 9;
    private const int Unimplemented = 12;
    private const int Unauthenticated = 16;
    private const int LastCode = 16;
    private const int MostTextLength = 200;

    // Texts of etcd's rpctypes/error.go, the same from 3.4 to 3.6; several share a code.
    private const string NoSpace = "database space exceeded";
    private const string NoUsers = "authentication is not enabled";
    private static readonly string[] OldToken = ["user name is empty", "revision of auth store is old"];
    private static readonly string[] Login = ["authentication failed", "user name", "role name", "permission"];

    /// <summary>The exception to throw.</summary>
    public static EtcdException Of(HttpStatusCode status, byte[] answer)
    {
        FailureAnswer? failure = TryRead(answer);
        if (failure is null or { Code: <= 0 or > LastCode })
        {
            // A proxy in front of etcd says 502 to 504 for it; others are no etcd.
            return (int)status >= 500
                ? new EtcdException(EtcdTrouble.Unavailable, $"HTTP status {(int)status}")
                : new EtcdException(EtcdTrouble.Malformed, $"HTTP status {(int)status}, which is not etcd's gateway");
        }

        string text = failure.Message ?? failure.Error ?? "";
        if (text.Length > MostTextLength)
            text = text[..MostTextLength];
        bool isOldToken = failure.Code == Unauthenticated || Has(text, OldToken);
        EtcdTrouble kind = KindOf(failure.Code, text, isOldToken);
        return new EtcdException(kind, text.Length > 0 ? text : $"code {failure.Code}")
        {
            IsTokenRefused = isOldToken,
            HasNoUsers = failure.Code == FailedPrecondition && Has(text, NoUsers),
        };
    }

    private static EtcdTrouble KindOf(int code, string text, bool isOldToken)
    {
        if (isOldToken)
            return EtcdTrouble.Refused;
        return code switch
        {
            ResourceExhausted when Has(text, NoSpace) => EtcdTrouble.NoSpace,
            PermissionDenied => EtcdTrouble.Refused,
            InvalidArgument or FailedPrecondition when Has(text, Login) => EtcdTrouble.Refused,
            InvalidArgument or Unimplemented => EtcdTrouble.Malformed,
            _ => EtcdTrouble.Unavailable,
        };
    }

    private static bool Has(string text, params string[] parts)
        => Array.Exists(parts, part => text.Contains(part, StringComparison.Ordinal));

    private static FailureAnswer? TryRead(byte[] answer)
    {
        try
        {
            return JsonSerializer.Deserialize(answer, GatewayJson.Default.FailureAnswer);
        }
        catch (JsonException)
        {
            return null;
        }
    }
}
