using EQueue.Protocol;

namespace EQueue.Replication;

/// <summary>What a replica's directory says of itself: the content of the file <c>replica</c>.</summary>
/// <param name="Life">The life of the process that has the directory open.</param>
/// <param name="Former">
/// Lives before it, newest first, back to the last one that was seen to hold a seat; at most <see cref="MostFormer"/>.
/// </param>
/// <param name="IsSync">Whether every answer of these lives told a durable position.</param>
/// <param name="Epoch">The epoch that the replica acted on last.</param>
/// <param name="Nonce">That epoch's nonce.</param>
/// <param name="Durable">What this disk has for certain; at most one second old.</param>
/// <param name="Committed">What is known to be committed, at most the log's end.</param>
public sealed record ReplicaRecord(
    Life Life,
    IReadOnlyList<Life> Former,
    bool IsSync,
    int Epoch,
    Nonce Nonce,
    LogPosition Durable,
    LogPosition Committed)
{
    /// <summary>The number of former lives that are kept.</summary>
    public const int MostFormer = 15;

    /// <summary>The record of an empty directory.</summary>
    public static ReplicaRecord Empty(Life life, bool isSync) => new(life, [], isSync, 0, default, default, default);

    /// <summary>The record with which the next life begins.</summary>
    /// <param name="life">The next life.</param>
    /// <param name="isSync">Whether it answers with durable positions.</param>
    /// <param name="isClean">Whether the life before stopped in order, with everything durable.</param>
    /// <param name="end">Where the log ends now: an unproven start knows nothing beyond as committed.</param>
    public ReplicaRecord Next(Life life, bool isSync, bool isClean, LogPosition end) => this with
    {
        Life = life,
        Former = [Life, .. Former.Take(MostFormer - 1)],
        IsSync = isSync && (IsSync || isClean),
        Committed = Committed < end ? Committed : end,
    };
}
