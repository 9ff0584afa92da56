namespace EQueue.Replication;

/// <summary>
/// One transaction at a time, repeated until its outcome is known. A refusal is final also for the attempts before
/// it: the state's revision has moved on, so none of them can succeed any more.
/// </summary>
internal sealed class Transactor(IReplicaActions actions, int repeatMs)
{
    private long _sentMs;

    /// <summary>The transaction whose outcome is not known; null when there is none.</summary>
    public Transaction? Pending { get; private set; }

    /// <summary>Begins a transaction. There must be none.</summary>
    public void Begin(Transaction transaction, long nowMs)
    {
        Pending = transaction;
        Send(nowMs);
    }

    /// <summary>Repeats what was not answered in time.</summary>
    public void Tick(long nowMs)
    {
        if (Pending is not null && nowMs - _sentMs >= repeatMs)
            Send(nowMs);
    }

    /// <summary>Takes an outcome.</summary>
    /// <returns>Whether it ends the pending transaction.</returns>
    public bool TryEnd(Transaction transaction, TransactionResult result)
    {
        if (!ReferenceEquals(transaction, Pending) || result.Outcome == TransactionOutcome.Unknown)
            return false;
        Pending = null;
        return true;
    }

    /// <summary>Forgets the pending transaction, because what it was for was seen in the state itself.</summary>
    public void Resolve() => Pending = null;

    private void Send(long nowMs)
    {
        _sentMs = nowMs;
        actions.Transact(Pending!);
    }
}
