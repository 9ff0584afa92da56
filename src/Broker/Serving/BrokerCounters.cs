namespace EQueue.Broker;

/// <summary>
/// What the broker has counted since it started. Fields, because they are counted up with Interlocked.
/// </summary>
internal sealed class BrokerCounters
{
    public long Connections;
    public long Requests;
    public long RefusedRequests;
    public long ProduceRequests;
    public long AppendedMessages;
    public long RefusedBatches;
    public long ParkedProduces;
    public long FetchRequests;
    public long FetchedBytes;
    public long ParkedFetches;
    public long FetchSessions;
    public long Commits;
    public long FencedCommits;
    public long ParkedHeartbeats;
    public long QueueMoves;
    public long SessionsEnded;
    public long GroupsExpired;
    public long ThrottledRequests;
    public long ThrottledMilliseconds;
    public long RejectedBatches;
    public long DroppedMessages;
    public long RefusedLogins;
    public long UnauthorizedRequests;
}
