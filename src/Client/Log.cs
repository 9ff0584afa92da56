using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>Everything the client logs: ids from 5000, never reused.</summary>
internal static partial class Log
{
    [LoggerMessage(5000, LogLevel.Information, "Connected to {Address}: store {StoreId}, broker {BrokerVersion}.")]
    public static partial void Connected(ILogger logger, ServerAddress address, Guid storeId, string brokerVersion);

    [LoggerMessage(
        5001, LogLevel.Warning, "{Address} is another store now ({Found} instead of {Known}): routes are asked anew.")]
    public static partial void StoreChanged(ILogger logger, ServerAddress address, Guid found, Guid known);

    [LoggerMessage(5160, LogLevel.Information, "Follows the leader {Leader} of epoch {Epoch}.")]
    public static partial void FollowsLeader(ILogger logger, ServerAddress leader, int epoch);

    [LoggerMessage(5110, LogLevel.Information, "{Address} takes this client for {Principal}.")]
    public static partial void LoggedIn(ILogger logger, ServerAddress address, string principal);

    [LoggerMessage(
        5100, LogLevel.Warning, "{Address} cannot be reached: {Reason}. Trying on ({Attempts} attempts so far).")]
    public static partial void CannotConnect(ILogger logger, string address, string reason, int attempts);

    [LoggerMessage(5101, LogLevel.Error, "ClientOptions.ConnectFailed threw.")]
    public static partial void ConnectCallbackThrew(ILogger logger, Exception exception);

    [LoggerMessage(
        5102,
        LogLevel.Warning,
        "The producer is closed: {NotSent} messages for {Topic} were not sent, {Unknown} more were sent and not "
        + "acknowledged: they may be stored.")]
    public static partial void ClosedUnsent(ILogger logger, string topic, long notSent, long unknown);

    [LoggerMessage(
        5103,
        LogLevel.Warning,
        "Group {Group} is left with the progress of {Count} queues uncommitted ({Reason}): their last messages come "
        + "again.")]
    public static partial void LeftUncommitted(ILogger logger, string group, int count, string reason);

    [LoggerMessage(
        5104, LogLevel.Warning, "A callback of group {Group} does not return: the consumer is closed without it.")]
    public static partial void CallbackKept(ILogger logger, string group);

    [LoggerMessage(
        5105,
        LogLevel.Warning,
        "Group {Group} waits for the topic {Topic}, which does not exist: it is read when it is made.{Hint}")]
    public static partial void TopicMissing(ILogger logger, string group, string topic, string hint);

    [LoggerMessage(5106, LogLevel.Information, "The topic {Topic} did not exist at {Address}: it was made.")]
    public static partial void TopicCreated(ILogger logger, string topic, ServerAddress address);

    [LoggerMessage(
        5107,
        LogLevel.Information,
        "Group {Group} reads {Count} more queues at {Address}: {Queues}.")]
    public static partial void QueuesGained(
        ILogger logger, string group, int count, ServerAddress address, string queues);

    [LoggerMessage(
        5108, LogLevel.Information, "Group {Group} gave up {Count} queues at {Address} to others: {Queues}.")]
    public static partial void QueuesGivenUp(
        ILogger logger, string group, int count, ServerAddress address, string queues);

    [LoggerMessage(
        5109,
        LogLevel.Warning,
        "A heartbeat of group {Group} to {Address} is {Late} ms late, its session lasts {Session} ms: the process was "
        + "stopped, its thread pool is starved ({Threads} threads, {Waiting} items wait), or the broker was slow.")]
    public static partial void HeartbeatLate(
        ILogger logger, string group, ServerAddress address, long late, long session, int threads, long waiting);

    [LoggerMessage(5010, LogLevel.Warning, "No producer session at {Address}: {Reason} Trying again.")]
    public static partial void SessionFailed(ILogger logger, ServerAddress address, string reason);

    [LoggerMessage(5011, LogLevel.Information, "Sending to {Address} as producer {ProducerId}, epoch {Epoch}.")]
    public static partial void SessionOpened(ILogger logger, ServerAddress address, long producerId, short epoch);

    [LoggerMessage(5012, LogLevel.Warning, "The producer session at {Address} is renewed: {Reason}.")]
    public static partial void SessionRenewed(ILogger logger, ServerAddress address, string reason);

    [LoggerMessage(5013, LogLevel.Warning, "{Count} messages for {Topic}/{Queue} could not be sent: {Code}. {Reason}")]
    public static partial void BatchFailed(
        ILogger logger, int count, string topic, int queue, ErrorCode code, string reason);

    [LoggerMessage(
        5014, LogLevel.Warning, "A batch for {Topic}/{Queue} was refused for now ({Code}); it is sent again.")]
    public static partial void BatchRefused(ILogger logger, string topic, int queue, ErrorCode code);

    [LoggerMessage(5015, LogLevel.Warning, "{Count} oneway messages for {Topic}/{Queue} were lost: {Reason}")]
    public static partial void OnewayLost(ILogger logger, int count, string topic, int queue, string reason);

    [LoggerMessage(5016, LogLevel.Error, "A send callback threw.")]
    public static partial void CallbackThrew(ILogger logger, Exception exception);

    [LoggerMessage(5017, LogLevel.Debug, "The route of {Topic} could not be asked for again: {Reason}")]
    public static partial void RefreshFailed(ILogger logger, string topic, string reason);

    [LoggerMessage(5018, LogLevel.Error, "A listener to the client's metrics or traces threw.")]
    public static partial void ListenerThrew(ILogger logger, Exception exception);

    [LoggerMessage(
        5020,
        LogLevel.Information,
        "Member {Member} of group {Group} joined at {Address}: generation {Generation}, {Count} queues.")]
    public static partial void Joined(
        ILogger logger, Guid member, string group, ServerAddress address, GroupGeneration generation, int count);

    [LoggerMessage(5021, LogLevel.Warning, "Member {Member} of group {Group} joins again: {Code}.")]
    public static partial void JoinsAgain(ILogger logger, Guid member, string group, ErrorCode code);

    [LoggerMessage(5022, LogLevel.Warning, "Group {Group} got no answer to a heartbeat from {Address}: {Reason}")]
    public static partial void HeartbeatFailed(ILogger logger, string group, ServerAddress address, string reason);

    [LoggerMessage(5023, LogLevel.Warning, "Group {Group} could not commit: {Reason}")]
    public static partial void CommitFailed(ILogger logger, string group, string reason);

    [LoggerMessage(5024, LogLevel.Warning, "Group {Group} could not be left in an orderly way: {Reason}")]
    public static partial void LeaveFailed(ILogger logger, string group, string reason);

    [LoggerMessage(5025, LogLevel.Warning, "Queues of group {Group} at {Address} cannot be begun yet: {Reason}")]
    public static partial void StartFailed(ILogger logger, string group, ServerAddress address, string reason);

    [LoggerMessage(5026, LogLevel.Error, "A callback of queues given or taken threw.")]
    public static partial void MemberCallbackThrew(ILogger logger, Exception exception);

    [LoggerMessage(5030, LogLevel.Warning, "Fetching from {Address} is interrupted: {Reason} Trying again.")]
    public static partial void FetchInterrupted(ILogger logger, ServerAddress address, string reason);

    [LoggerMessage(5031, LogLevel.Warning, "{Topic}/{Queue} has no offset {Offset}: reading goes on at {Next}.")]
    public static partial void OffsetReset(ILogger logger, string topic, int queue, long offset, long next);

    [LoggerMessage(
        5140,
        LogLevel.Warning,
        "{Topic}/{Queue} has another history than the one that was read up to {From} (a backup restored, or its end "
        + "lost with the power): reading goes on at {To}, where they part.")]
    public static partial void HistoryDiverged(ILogger logger, string topic, int queue, long from, long to);

    [LoggerMessage(
        5032, LogLevel.Error, "Passed over {Offset} to {Next} of {Topic}/{Queue}, which are damaged: {Reason}.")]
    public static partial void DamageSkipped(
        ILogger logger, long offset, long next, string topic, int queue, string reason);

    [LoggerMessage(5033, LogLevel.Warning, "A batch of {Topic}/{Queue} at {Offset} came damaged; it is fetched again.")]
    public static partial void CorruptFetch(ILogger logger, string topic, int queue, long offset);

    [LoggerMessage(5034, LogLevel.Warning, "{Topic}/{Queue} cannot be read: {Code}.")]
    public static partial void QueueDropped(ILogger logger, string topic, int queue, ErrorCode code);

    [LoggerMessage(5035, LogLevel.Warning, "{Topic}/{Queue} may not be read now. Trying again.")]
    public static partial void QueueNotReadable(ILogger logger, string topic, int queue);

    [LoggerMessage(
        5170, LogLevel.Warning, "What was forwarded last is forwarded again by the next member: {Reason}")]
    public static partial void ForwardRepeated(ILogger logger, string reason);

    [LoggerMessage(5171, LogLevel.Warning, "Another member takes over and repeats some messages: {Reason}")]
    public static partial void ForwardTakenOver(ILogger logger, string reason);
}
