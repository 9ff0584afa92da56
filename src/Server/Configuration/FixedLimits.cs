namespace EQueue.Server.Configuration;

/// <summary>The limits that no setting changes, for the table in docs/operating.md. A test holds each number against
/// the constant that is obeyed.</summary>
internal static class FixedLimits
{
    private const string Refused = "`InvalidArgument`: ask in parts";

    /// <summary>Those of brokers and clients first, then those of single nodes and of the admin port.</summary>
    public static IReadOnlyList<FixedLimit> All { get; } =
    [
        new(
            "NameRules.MaxLength", 249,
            "characters of a name: of a topic, group, instance, user, client", "`InvalidName`, `InvalidArgument`"),
        new("SecurityTable.MaxUsers", 1_000, "users", "`LimitReached`"),
        new("SecurityTable.MaxTokens", 10_000, "tokens of all users", "`LimitReached`"),
        new("SecurityTable.MaxRules", 10_000, "rules", "`LimitReached`"),
        new("SecurityTable.MaxGroups", 16, "groups of a user", "`InvalidArgument`"),
        new(
            "LoginGuard.MostKept", 10_000,
            "addresses and names whose failed logins are remembered", "the oldest are forgotten"),
        new("CertificateMapping.MostRules", 64, "rules of `Security:CertificateMapping`", "exit code 2"),
        new("TopicRules.MaxBacklogGroupsLength", 1_024, "characters of a topic's `backlogGroups`", "`InvalidArgument`"),
        new("TopicHandler.MaxRouted", 1_000, "names in a Route", Refused),
        new("TopicHandler.MaxListed", 1_000, "topics in a page of their list", "the next page has the rest"),
        new("GroupAdminHandler.MaxListed", 1_000, "groups in a page of their list", "the next page has the rest"),
        new(
            "SecurityHandler.MaxListed", 1_000,
            "users, tokens or rules in a page of their lists", "the next page has the rest"),
        new(
            "StatsHandler.MaxTopics", 1_000,
            "topics whose backlogs Stats tells", "those behind, by name, are left out"),
        new("ProduceHandler.MaxBatches", 65_536, "batches of a produce request", "`MalformedRequest`"),
        new("OffsetHandler.MaxQuestions", 100_000, "queues in a FindOffsets", Refused),
        new(
            "OffsetHandler.MaxKeySearchBytes", 16 << 20,
            "bytes that one FindByKey reads", "its answer says where to go on"),
        new("FindByKeyRequest.MaxKeyBytes", 64 << 10, "bytes of a key that is looked for", "`InvalidArgument`"),
        new(
            "FindByKeyRequest.MaxMessages", 10_000,
            "messages that one FindByKey finds", "its answer says where to go on"),
        new("LogHistory.MaxEpochs", 1_000, "epochs in a CheckHistory", Refused),
        new("CheckHistoryRequest.MaxPlaces", 10_000, "places in a CheckHistory", Refused),
        new("HeartbeatRules.MaxSubscriptions", 1_000, "topics that a member of a group reads", "`InvalidArgument`"),
        new("HeartbeatRules.MaxTags", 64, "tags that a member asks for in a topic", "`InvalidArgument`"),
        new("HeartbeatRules.MaxTagBytes", 249, "bytes of such a tag", "`InvalidArgument`"),
        new("CommitHandler.MaxCommittedQueues", 10_000, "queues of a commit", Refused),
        new("CommitHandler.MaxCommitBytes", 1 << 20, "bytes of a commit: 300 for a queue, and its metadata", Refused),
        new("CommittedOffset.MaxMetadataBytes", 4_096, "bytes of metadata of a queue in a commit", "`InvalidArgument`"),
        new("CommitHandler.MaxInstances", 1_000, "instances of a broadcast group that have progress", "`LimitReached`"),
        new("GroupAdminHandler.MaxResetQueues", 10_000, "queues that one reset sets", Refused),
        new("DiskThreads.MaxWaiting", 10_000, "reads that wait for the disk", "`LimitReached`"),
        new(
            "LeaderBoard.MostWaiting", 4_096,
            "watchers of a cluster's leader at one node", "those behind are answered at once"),
        new("ClusterOptions.MostNodes", 100, "nodes of a new cluster", "exit code 2"),
        new(
            "PeerLink.MostQueuedBytes", 64 << 20,
            "bytes that wait for another node", "what is said later is dropped until it has taken some"),
        new("SendRoute.MostMessages", 10_000, "messages sent by one request over HTTP", "400"),
        new(
            "ReadRoutes.MostQueues", 64,
            "queues of a topic that `latest` and `by-key` read over HTTP", "400: name one"),
        new(
            "ApiCall.MostAnswerBytes", 8 << 20,
            "bytes of messages in an answer over HTTP", "the next page has the rest"),
        new(
            "InstrumentSeries.MostSeries", 25_000,
            "sets of labels of an instrument in /metrics", "those behind are left out"),
        new(
            "AuditFile.MostWaitingChars", 4 << 20,
            "characters of audit records that wait for their file", "those behind are counted and lost"),
    ];
}

/// <summary>A limit that no setting changes.</summary>
/// <param name="Constant">The type and the name of what is obeyed.</param>
/// <param name="Most">What is allowed.</param>
/// <param name="Meaning">What is counted.</param>
/// <param name="AtLimit">What happens beyond it.</param>
internal sealed record FixedLimit(string Constant, long Most, string Meaning, string AtLimit);
