using System.Collections.Concurrent;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <summary>What a node counts, over all its lives.</summary>
/// <remarks>Thread-safe.</remarks>
/// <param name="time">Measures since when etcd takes no puts.</param>
internal sealed class NodeCounters(TimeProvider time)
{
    private readonly ConcurrentDictionary<string, long> _positions = new(StringComparer.Ordinal);
    private long _claims;
    private long _etcdFailures;
    private long _alarms;
    private long _leaderCommitted;
    private long _putAt = time.GetTimestamp();
    private Transaction? _claim;

    public long Claims => Interlocked.Read(ref _claims);

    public long EtcdFailures => Interlocked.Read(ref _etcdFailures);

    public long Alarms => Interlocked.Read(ref _alarms);

    /// <summary>What the leader has last told as committed.</summary>
    public long LeaderCommitted => Volatile.Read(ref _leaderCommitted);

    /// <summary>How far each other node has last said to be.</summary>
    public IEnumerable<KeyValuePair<string, long>> Positions => _positions;

    /// <summary>Time since etcd took a put of this node's key; before the first one since the node began.</summary>
    public TimeSpan PutAge => time.GetElapsedTime(Volatile.Read(ref _putAt));

    public void NotePut() => Volatile.Write(ref _putAt, time.GetTimestamp());

    public void NoteEtcdFailure() => Interlocked.Increment(ref _etcdFailures);

    public void NoteAlarm() => Interlocked.Increment(ref _alarms);

    /// <summary>A transaction is sent; one that is sent again until its outcome is known counts once.</summary>
    public void NoteTransaction(Transaction transaction)
    {
        if (transaction.Kind != TransactionKind.Claim)
            return;
        if (!ReferenceEquals(Interlocked.Exchange(ref _claim, transaction), transaction))
            Interlocked.Increment(ref _claims);
    }

    /// <summary>A message tells how far its sender is.</summary>
    public void NoteMessage(string from, PeerMessage message)
    {
        switch (message)
        {
            case FetchAnswer { Verdict: FetchVerdict.Matched } answer:
                Volatile.Write(ref _leaderCommitted, answer.Committed.Value);
                break;
            case Fetch fetch:
                _positions[from] = fetch.Position.Value;
                break;
            case Ack ack:
                _positions[from] = ack.Position.Value;
                break;
        }
    }
}
