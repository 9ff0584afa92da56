using EQueue.MessageStore;

namespace EQueue.Cluster;

/// <summary>Knows whether a store would take messages in the shard's directory, while the node follows.</summary>
/// <remarks>What it keeps back follows from what the volume has left and what the log holds: the directory must be the
/// one that a store would open. Looked at from the rules' thread; the looks are made elsewhere.</remarks>
/// <param name="store">How that store would be kept, its directory included.</param>
internal sealed class RoomWatch(StoreOptions store)
{
    private const int IntervalMs = 2000;

    private StoreOptions? _fitted;
    private volatile bool _isFull;
    private long? _lookedMs;
    private int _isLooking;

    /// <summary>Whether the volume has too little room, as it was at the last look.</summary>
    public bool IsFull => _isFull;

    /// <summary>Looks now and then, elsewhere: a disk that stands still keeps no caller waiting.</summary>
    public void Look(long nowMs)
    {
        if (nowMs - _lookedMs < IntervalMs || Interlocked.Exchange(ref _isLooking, 1) != 0)
            return;
        _lookedMs = nowMs;
        _ = Task.Run(LookNow);
    }

    private void LookNow()
    {
        try
        {
            _fitted ??= store.FitToVolume();
            _isFull = _fitted.IsVolumeFull();
        }
        catch (StoreFitException)
        {
            _isFull = true;
        }
        catch (DiskException)
        {
            // A disk that cannot be asked is told of by who writes to it.
        }
        finally
        {
            Volatile.Write(ref _isLooking, 0);
        }
    }
}
