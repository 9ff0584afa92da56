using EQueue.Replication;
using Microsoft.Extensions.Logging;

namespace EQueue.Cluster;

/// <summary>Everything that a node of a cluster logs. Ids 7000 to 7999, never reused.</summary>
internal static partial class Log
{
    [LoggerMessage(7000, LogLevel.Warning, "etcd member {Member} fails: {Why}. The others are asked first")]
    public static partial void EtcdMemberFails(this ILogger logger, Uri member, string why);

    [LoggerMessage(7001, LogLevel.Information, "etcd member {Member} answers again")]
    public static partial void EtcdMemberAnswers(this ILogger logger, Uri member);

    [LoggerMessage(7002, LogLevel.Warning,
        "Cluster {Cluster}: whether etcd has made a change of the shard's state ({Kind}) is not known, it is tried "
        + "again: {Why}")]
    public static partial void EtcdOutcomeUnknown(
        this ILogger logger, string cluster, TransactionKind kind, string why);
}
