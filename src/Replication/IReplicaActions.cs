using EQueue.Protocol;

namespace EQueue.Replication;

/// <summary>What the rules ask for. Calls return at once; results come back through the inputs of the core.</summary>
public interface IReplicaActions
{
    /// <summary>Sends a message to a node; it may be lost.</summary>
    void Send(string node, PeerMessage message);

    /// <summary>
    /// Answers a fetch with the entries from <paramref name="from"/> up to what is written, of one epoch each time.
    /// </summary>
    void SendEntries(string node, FetchAnswer answer, LogPosition from);

    /// <summary>Reads the shard's keys; the result comes by <see cref="ReplicaCore.OnView"/>, or never.</summary>
    void ReadEtcd();

    /// <summary>Sends a transaction; the result comes by <see cref="ReplicaCore.OnTransaction"/>.</summary>
    void Transact(Transaction transaction);

    /// <summary>Writes the replica file and syncs it before it returns.</summary>
    void Persist(ReplicaRecord record);

    /// <summary>Writes the replica file soon, without waiting for the disk; never over what was persisted
    /// later.</summary>
    void PersistSoon(ReplicaRecord record);

    /// <summary>Stores entries of a leader at the end; <see cref="ReplicaCore.OnLogMoved"/> tells when.</summary>
    void Append(object entries);

    /// <summary>Cuts the log to an end of an entry, durably, before it returns.</summary>
    void CutTo(LogPosition end);

    /// <summary>
    /// Opens the log to lead, appends the entry that begins an epoch and syncs it; that takes time, and
    /// <see cref="ReplicaCore.OnEpochStarted"/> tells when it is done. What was asked to be persisted is durable
    /// before. </summary>
    void StartEpoch(int epoch, Nonce nonce);

    /// <summary>Tells the store what is committed, and whether it takes messages. Not before the epoch has
    /// started.</summary>
    /// <param name="committed">What every seat has, by the policy.</param>
    /// <param name="durable">What every seat has on its disk; at most <paramref name="committed"/>.</param>
    /// <param name="isOpen">Whether messages are taken.</param>
    void Publish(LogPosition committed, LogPosition durable, bool isOpen);

    /// <summary>
    /// The store no longer leads: waiters are told, the directory is opened plainly; that takes time, and
    /// <see cref="ReplicaCore.OnLogOpened"/> tells when it is done. It may come while <see cref="StartEpoch"/> is
    /// under way. </summary>
    void StopLeading();

    /// <summary>
    /// The replica ends. With <see cref="StopReason.SetAside"/> its directory is renamed and a new life begins with
    /// an empty one, with <see cref="StopReason.Gone"/> it is emptied; otherwise it waits for a person. </summary>
    void Stop(StopReason reason, string why);

    /// <summary>Something that an operator must hear of.</summary>
    void Alarm(string what);

    /// <summary>A seat holds the others up: the leader lets it out of the set.</summary>
    /// <param name="node">Whose.</param>
    /// <param name="isSilent">It says nothing; else it is behind.</param>
    /// <param name="waitMs">For how long it is not let in again, in milliseconds.</param>
    void LetOut(string node, bool isSilent, int waitMs);

    /// <summary>This replica leads no longer, because of its disk.</summary>
    /// <param name="isFull">It has no room; else it stands still, and holds the others up.</param>
    void Resign(bool isFull);
}
