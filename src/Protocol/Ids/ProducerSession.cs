namespace EQueue.Protocol;

/// <summary>
/// Who sends, for idempotence: a producer id given by the broker and the epoch that fences older selves.
/// </summary>
/// <param name="Id">0 or more; -1 sends without idempotence (oneway).</param>
/// <param name="Epoch">0 or more; -1 with id -1.</param>
public readonly record struct ProducerSession(long Id, short Epoch)
{
    /// <summary>A sender without sequence numbers.</summary>
    public static readonly ProducerSession None = new(-1, -1);

    /// <summary>Whether batches of this session carry sequence numbers that the broker checks.</summary>
    public bool IsIdempotent => Id >= 0;
}
