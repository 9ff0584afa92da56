namespace EQueue.Remoting;

/// <summary>Bounds the memory of frames that the peers of a server have not taken, over all its connections, and of
/// frames that are being written for them.</summary>
/// <remarks>
/// Thread-safe. A connection with less than <see cref="UnitBytes"/> of unsent frames counts nothing, and the count
/// changes in these units, so that a peer that takes its answers costs nothing here.
/// While the budget is spent, a connection with a unit or more is not read on, and a peer that takes nothing is cut
/// sooner.
/// </remarks>
public sealed class SendBudget
{
    /// <summary>What counts at once.</summary>
    public const int UnitBytes = 16 * 1024;

    private long _usedBytes;
    private int _refusals;

    internal SendBudget(long maxBytes) => MaxBytes = maxBytes;

    /// <summary>What all connections may take together, in bytes.</summary>
    public long MaxBytes { get; }

    /// <summary>What they take now, in bytes; for a moment more than may be.</summary>
    public long UsedBytes => Volatile.Read(ref _usedBytes);

    /// <summary>Whether there is nothing left.</summary>
    public bool IsSpent => UsedBytes >= MaxBytes;

    /// <summary>Whether so many bytes more would fit; if not, peers that take nothing are cut sooner.</summary>
    public bool HasRoom(long bytes)
    {
        if (UsedBytes + bytes <= MaxBytes)
            return true;
        Volatile.Write(ref _refusals, 1);
        return false;
    }

    /// <summary>Takes memory if it fits. More than there is at all is taken as long as the budget is not spent, because
    /// waiting would not help.</summary>
    public bool TryTake(long bytes)
    {
        bool isMoreThanAll = bytes > MaxBytes;
        if (!isMoreThanAll && !HasRoom(bytes))
            return false;
        long before = Interlocked.Add(ref _usedBytes, bytes) - bytes;
        if (isMoreThanAll ? before < MaxBytes : before + bytes <= MaxBytes)
            return true;
        Interlocked.Add(ref _usedBytes, -bytes);
        Volatile.Write(ref _refusals, 1);
        return false;
    }

    /// <summary>Gives memory back.</summary>
    public void Give(long bytes) => Interlocked.Add(ref _usedBytes, -bytes);

    /// <summary>Takes memory whether it fits or not.</summary>
    internal void Take(long bytes) => Interlocked.Add(ref _usedBytes, bytes);

    /// <summary>Whether a request was refused since the last call, or would be now.</summary>
    internal bool TakePressure() => Interlocked.Exchange(ref _refusals, 0) != 0 || IsSpent;
}
