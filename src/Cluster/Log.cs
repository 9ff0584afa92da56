using EQueue.Replication;
using Microsoft.Extensions.Logging;

namespace EQueue.Cluster;

/// <summary>Everything that a node of a cluster logs. Ids 7000 to 7999, never reused.</summary>
internal static partial class Log
{
    [LoggerMessage(7000, LogLevel.Warning, "etcd member {Member} fails: {Why}. {Next}")]
    public static partial void EtcdMemberFails(this ILogger logger, Uri member, string why, string next);

    [LoggerMessage(7001, LogLevel.Information, "etcd member {Member} answers again")]
    public static partial void EtcdMemberAnswers(this ILogger logger, Uri member);

    [LoggerMessage(7002, LogLevel.Warning,
        "Cluster {Cluster}: whether etcd has made a change of the shard's state ({Kind}) is not known, it is tried "
        + "again: {Why}")]
    public static partial void EtcdOutcomeUnknown(
        this ILogger logger, string cluster, TransactionKind kind, string why);

    [LoggerMessage(7020, LogLevel.Information, "Node {Node} leads epoch {Epoch}: it opens the log")]
    public static partial void Leads(this ILogger logger, string node, int epoch);

    [LoggerMessage(7021, LogLevel.Information, "Node {Node} serves clients as the leader of epoch {Epoch}")]
    public static partial void Serves(this ILogger logger, string node, int epoch);

    [LoggerMessage(7022, LogLevel.Warning,
        "Node {Node} leads no longer; the newest epoch that it knows is {Epoch}. Its clients go to the next leader")]
    public static partial void LeadsNoLonger(this ILogger logger, string node, int epoch);

    [LoggerMessage(7023, LogLevel.Information,
        "Node {Node} cuts its log from {End} to {To}, as the leader of epoch {Epoch} has it: nothing of that was "
        + "acknowledged")]
    public static partial void Cut(this ILogger logger, string node, long end, long to, int epoch);

    [LoggerMessage(7024, LogLevel.Warning, "Node {Node}: {What}")]
    public static partial void Alarm(this ILogger logger, string node, string what);

    [LoggerMessage(7025, LogLevel.Warning,
        "Node {Node} was not running for {Milliseconds} ms: the machine is overloaded, or the process was paused. The "
        + "longest time of each minute is told")]
    public static partial void Paused(this ILogger logger, string node, long milliseconds);

    [LoggerMessage(7026, LogLevel.Warning,
        "Node {Node} cannot reach etcd: {Why}. Serving goes on; no change of leader or seats is possible until "
        + "it answers")]
    public static partial void EtcdAway(this ILogger logger, string node, string why);

    [LoggerMessage(7027, LogLevel.Information, "Node {Node} reaches etcd again")]
    public static partial void EtcdBack(this ILogger logger, string node);

    [LoggerMessage(7028, LogLevel.Warning, "Node {Node} does not store what the leader sent, and asks again: {Why}")]
    public static partial void EntriesRefused(this ILogger logger, string node, string why);

    [LoggerMessage(7029, LogLevel.Warning, "The entries for {Node} at {Position} cannot be read: {Why}")]
    public static partial void EntriesUnreadable(this ILogger logger, string node, long position, string why);

    [LoggerMessage(7030, LogLevel.Warning,
        "Node {Node} follows no further while its disk is full; the others go on without it. Give it more room: {Why}")]
    public static partial void DiskFull(this ILogger logger, string node, string why);

    [LoggerMessage(7031, LogLevel.Warning,
        "Node {Node}: the engine of the epoch that is over did not close well: {Why}")]
    public static partial void EngineClosedBadly(this ILogger logger, string node, string why);

    [LoggerMessage(7032, LogLevel.Information,
        "Node {Node} of cluster {Cluster} begins: directory {Directory}, log to {End}, {Seat}")]
    public static partial void NodeBegins(
        this ILogger logger, string node, string cluster, string directory, long end, string seat);

    [LoggerMessage(7033, LogLevel.Warning, "Node {Node} waits for etcd: {Why}")]
    public static partial void WaitsForEtcd(this ILogger logger, string node, string why);

    [LoggerMessage(7034, LogLevel.Warning,
        "Node {Node} sets its directory aside as {Aside} and copies the log anew: {Why}")]
    public static partial void SetAside(this ILogger logger, string node, string aside, string why);

    [LoggerMessage(7035, LogLevel.Information, "Node {Node} copies the log anew: {Why}")]
    public static partial void CopiesAnew(this ILogger logger, string node, string why);

    [LoggerMessage(7036, LogLevel.Information,
        "Node {Node} copied {Files} files, {Bytes} bytes, from {From}: its log goes to {End}")]
    public static partial void Copied(this ILogger logger, string node, int files, long bytes, string from, long end);

    [LoggerMessage(7037, LogLevel.Information, "Node {Node} waits for a leader to copy the log from: {Why}")]
    public static partial void CopyFailed(this ILogger logger, string node, string why);

    [LoggerMessage(7039, LogLevel.Warning,
        "Node {Node} cannot keep its derived files as {From} has them, and tries again: {Why}")]
    public static partial void MirrorFailed(this ILogger logger, string node, string from, string why);

    [LoggerMessage(7040, LogLevel.Critical, "Node {Node} takes no part any more and waits for a person: {Why}")]
    public static partial void WaitsForPerson(this ILogger logger, string node, string why);

    [LoggerMessage(7041, LogLevel.Warning,
        "Node {Node} has no connection to {Peer} at {Address} and tries on: {Why}")]
    public static partial void NoConnection(
        this ILogger logger, string node, string peer, string address, string why);

    [LoggerMessage(7042, LogLevel.Warning,
        "Node {Node} lets {Peer} out of the set: it {How} and holds the others up. It gets its seat back by itself, "
        + "after {Seconds} s at the earliest. If it runs, look at its disk and its network")]
    public static partial void LetOut(this ILogger logger, string node, string peer, string how, int seconds);

    [LoggerMessage(7043, LogLevel.Warning,
        "Node {Node} lets another node lead: its disk {How} (epoch {Epoch}). Look at its disk")]
    public static partial void Resigns(this ILogger logger, string node, string how, int epoch);

    [LoggerMessage(7044, LogLevel.Information, "The seats of epoch {Epoch} are {Seats} now")]
    public static partial void SeatsAre(this ILogger logger, int epoch, string seats);

    [LoggerMessage(7038, LogLevel.Warning, "A connection from {Address} is refused: {Why}")]
    public static partial void PeerRefused(this ILogger logger, string? address, string why);
}
