using System.Net;
using EQueue.MessageStore;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>Everything that the broker logs. Ids 3000 to 3999, never reused.</summary>
internal static partial class Log
{
    [LoggerMessage(3000, LogLevel.Information,
        "Broker {BrokerId} serves {Directory} on {EndPoint}: epoch {Epoch}, {Topics} topics, {Queues} queues, "
        + "{Groups} groups")]
    public static partial void Started(
        this ILogger logger,
        Guid brokerId,
        string directory,
        EndPoint endPoint,
        int epoch,
        int topics,
        int queues,
        int groups);

    [LoggerMessage(3001, LogLevel.Information, "Broker {BrokerId} stopped")]
    public static partial void Stopped(this ILogger logger, Guid brokerId);

    [LoggerMessage(3002, LogLevel.Critical, "Broker {BrokerId} can take no more messages: its store met a fault")]
    public static partial void StoreFaulted(this ILogger logger, Guid brokerId, Exception exception);

    [LoggerMessage(3100, LogLevel.Warning,
        "Limits:MaxConnections is lowered from {Wanted} to {Places}: the process may have {Descriptors} descriptors "
        + "(ulimit -n, LimitNOFILE of a service), {Taken} are taken and {Kept} kept for the store and the admin port")]
    public static partial void ConnectionsLowered(
        this ILogger logger, int wanted, int places, long descriptors, int taken, int kept);

    [LoggerMessage(
        3003, LogLevel.Information, "{Count} offsets of groups were forgotten: their queues do not exist any more")]
    public static partial void OffsetsForgotten(this ILogger logger, int count);

    [LoggerMessage(
        3200,
        LogLevel.Warning,
        "Group {Group} had committed up to {From} in queue {Queue}, which ends at {End}: damage took the messages "
        + "before it. The group goes on at the end")]
    public static partial void ProgressPutBack(this ILogger logger, string group, uint queue, long from, long end);

    [LoggerMessage(3010, LogLevel.Debug, "Connection {Connection} from {Peer} opened")]
    public static partial void ConnectionOpened(this ILogger logger, long connection, EndPoint peer);

    [LoggerMessage(3011, LogLevel.Debug, "Connection {Connection} from {Peer} ended: {Cause}")]
    public static partial void ConnectionClosed(this ILogger logger, long connection, EndPoint peer, string? cause);

    [LoggerMessage(3012, LogLevel.Warning, "Connection {Connection} from {Peer} is closed: {Error}")]
    public static partial void ConnectionRefused(this ILogger logger, long connection, EndPoint peer, ErrorCode error);

    [LoggerMessage(3020, LogLevel.Debug, "{Operation} of connection {Connection} was refused with {Error}: {Message}")]
    public static partial void RequestRefused(
        this ILogger logger, Opcode operation, long connection, ErrorCode error, string message);

    [LoggerMessage(3021, LogLevel.Error, "{Operation} of connection {Connection} failed")]
    public static partial void RequestFailed(
        this ILogger logger, Opcode operation, long connection, Exception exception);

    [LoggerMessage(3030, LogLevel.Information, "Topic {Topic} ({Id}) was made with {Queues} queues")]
    public static partial void TopicCreated(this ILogger logger, string topic, TopicId id, int queues);

    [LoggerMessage(3031, LogLevel.Information, "Topic {Topic} was changed; it has {Queues} queues")]
    public static partial void TopicAltered(this ILogger logger, string topic, int queues);

    [LoggerMessage(3032, LogLevel.Information, "Topic {Topic} ({Id}) was removed with its {Queues} queues")]
    public static partial void TopicDeleted(this ILogger logger, string topic, TopicId id, int queues);

    [LoggerMessage(3034, LogLevel.Information,
        "Topic {Topic}: {Unwritable} of its {Queues} queues take no messages, {Unreadable} may not be read")]
    public static partial void QueuesAltered(
        this ILogger logger, string topic, int unwritable, int unreadable, int queues);

    [LoggerMessage(3033, LogLevel.Warning,
        "The oldest messages of topic {Topic} stay although its backlog is over the bound: {Cause}")]
    public static partial void BacklogNotCut(this ILogger logger, string topic, string cause);

    [LoggerMessage(3043, LogLevel.Information, "{Member} of {Client} joined group {Group}: {Members} members")]
    public static partial void MemberJoined(
        this ILogger logger, string group, Guid member, string client, int members);

    [LoggerMessage(3044, LogLevel.Information, "{Member} of {Client} is out of group {Group}: {Cause}")]
    public static partial void SessionEnded(
        this ILogger logger, string group, Guid member, string client, SessionEnd cause);

    [LoggerMessage(3045, LogLevel.Information,
        "Group {Group} is settled: {Members} members, {Queues} queues, generation {Generation}")]
    public static partial void GroupSettled(
        this ILogger logger, string group, int members, int queues, GroupGeneration generation);

    [LoggerMessage(3046, LogLevel.Error, "A change of group {Group} failed")]
    public static partial void GroupFailed(this ILogger logger, string group, Exception exception);

    [LoggerMessage(3050, LogLevel.Information,
        "Connection {Connection} has more than {Limit} fetch sessions: session {Session} rested longest and was ended")]
    public static partial void FetchSessionDropped(this ILogger logger, long connection, uint session, int limit);

    [LoggerMessage(3060, LogLevel.Debug, "Retention moved the starts of {Queues} queues")]
    public static partial void StartsMoved(this ILogger logger, int queues);

    [LoggerMessage(3061, LogLevel.Error, "A round of retention failed; the next one tries again")]
    public static partial void RetentionFailed(this ILogger logger, Exception exception);

    [LoggerMessage(3070, LogLevel.Information, "Group {Group} was deleted by {Peer}")]
    public static partial void GroupDeleted(this ILogger logger, string group, string peer);

    [LoggerMessage(3071, LogLevel.Information, "The progress of group {Group} in topic {Topic} was deleted by {Peer}")]
    public static partial void GroupProgressDeleted(this ILogger logger, string group, string topic, string peer);

    [LoggerMessage(3072, LogLevel.Information, "Group {Group} was reset in {Queues} queues by {Peer}")]
    public static partial void OffsetsReset(this ILogger logger, string group, int queues, string peer);

    [LoggerMessage(3073, LogLevel.Information, "Group {Group} gave no sign for {Retention}: removed")]
    public static partial void GroupExpired(this ILogger logger, string group, TimeSpan retention);

    [LoggerMessage(3080, LogLevel.Information,
        "Quota of {Kind} {Name}: {ProduceBytes} B/s in, {FetchBytes} B/s out, {Requests} requests/s (0 = no bound)")]
    public static partial void QuotaSet(
        this ILogger logger, QuotaKind kind, string name, long produceBytes, long fetchBytes, long requests);

    [LoggerMessage(3220, LogLevel.Information, "The log holds {Users} users, {Tokens} tokens and {Rules} rules")]
    public static partial void SecurityLoaded(this ILogger logger, int users, int tokens, int rules);

    [LoggerMessage(3221, LogLevel.Information, "User {Name} is made or changed")]
    public static partial void UserSet(this ILogger logger, string name);

    [LoggerMessage(3222, LogLevel.Information, "User {Name} is removed, with its tokens")]
    public static partial void UserDeleted(this ILogger logger, string name);

    [LoggerMessage(3223, LogLevel.Information, "Token {Id} of user {User} is made")]
    public static partial void TokenMade(this ILogger logger, string id, string user);

    [LoggerMessage(3224, LogLevel.Information, "Token {Id} is revoked")]
    public static partial void TokenRevoked(this ILogger logger, string id);

    [LoggerMessage(3225, LogLevel.Information, "Rule '{Rule}' is set (removed: {IsRemoved})")]
    public static partial void RuleSet(this ILogger logger, AccessRule rule, bool isRemoved);

    [LoggerMessage(3226, LogLevel.Warning, "A request of {Principal}, whose rights ended, failed while it was ended")]
    public static partial void RequestNotEnded(this ILogger logger, string principal, Exception exception);

    [LoggerMessage(3170, LogLevel.Information,
        "{Count} messages of topic {Topic}, queue {Queue} went ({Cause}): it begins at offset {Start} now")]
    public static partial void MessagesGone(
        this ILogger logger, long count, string topic, int queue, DeletionCause cause, long start);

    [LoggerMessage(3171, LogLevel.Warning,
        "{Count} messages of topic {Topic}, queue {Queue} that group {Group} has not read are about to go ({Cause}): "
        + "those before offset {Start}")]
    public static partial void UnreadAboutToGo(
        this ILogger logger, long count, string topic, int queue, string group, DeletionCause cause, long start);

    [LoggerMessage(3172, LogLevel.Warning,
        "{Count} messages of topic {Topic}, queue {Queue} that group {Group} had not read have gone ({Cause}): the "
        + "queue begins at offset {Start} now")]
    public static partial void UnreadGone(
        this ILogger logger, long count, string topic, int queue, string group, DeletionCause cause, long start);

    [LoggerMessage(3173, LogLevel.Warning,
        "{Queues} more queues lost messages that a group had not read, {Count} messages in all")]
    public static partial void MoreUnreadGone(this ILogger logger, int queues, long count);

    [LoggerMessage(3174, LogLevel.Information, "{Queues} more queues let {Count} messages go")]
    public static partial void MoreMessagesGone(this ILogger logger, int queues, long count);

    [LoggerMessage(3090, LogLevel.Warning, "Backlog and lag of the groups could not be computed for the metrics")]
    public static partial void BacklogNotComputed(this ILogger logger, Exception exception);

    [LoggerMessage(3075, LogLevel.Warning, "Group {Group} could not be removed; the next round tries again")]
    public static partial void GroupExpiryFailed(this ILogger logger, string group, Exception exception);
}
