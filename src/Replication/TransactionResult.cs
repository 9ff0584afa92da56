namespace EQueue.Replication;

/// <summary>What became of a transaction.</summary>
public enum TransactionOutcome
{
    /// <summary>It changed the state.</summary>
    Succeeded,

    /// <summary>The comparison failed, now and so for all time: it changed nothing.</summary>
    Refused,

    /// <summary>No answer came. It may have happened, and it may still happen.</summary>
    Unknown,
}

/// <summary>The answer to a transaction.</summary>
/// <param name="Outcome">What became of it.</param>
/// <param name="View">
/// The shard's keys as the transaction left or found them: read inside the transaction, so never out of date; null
/// when the outcome is unknown.
/// </param>
public sealed record TransactionResult(TransactionOutcome Outcome, ShardView? View);
