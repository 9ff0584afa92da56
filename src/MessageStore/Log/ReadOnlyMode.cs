using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Why messages are refused; more than one may hold.</summary>
[Flags]
internal enum ReadOnlyReason
{
    None = 0,

    /// <summary>The next segment cannot be made, or what would be left is less than the reserve.</summary>
    Space = 1,

    /// <summary>A write found the disk full.</summary>
    Write = 2,
}

/// <summary>Whether messages are refused because the disk is (nearly) full. The writer and the preparer switch it;
/// any thread asks.</summary>
/// <param name="options">The reserve, and what becomes of messages.</param>
/// <param name="directory">For log lines.</param>
/// <param name="logger">Is told when it begins and ends.</param>
/// <param name="waiters">Their next try gets another answer when it begins or ends.</param>
/// <param name="keeper">A full log needs a snapshot, so that segments can go.</param>
internal sealed class ReadOnlyMode(
    StoreOptions options, string directory, ILogger logger, RoomWaiters waiters, WorkSignal keeper)
{
    private int _reasons;
    private long _freeBytes;

    public bool IsOn => Volatile.Read(ref _reasons) != 0;

    /// <summary>Whether messages wait for room while it is on, instead of being refused.</summary>
    public bool HasMessagesWait => options.MemoryFull != MemoryFull.Reject;

    /// <summary>Free bytes when they were last asked for.</summary>
    public long FreeBytes
    {
        get => Volatile.Read(ref _freeBytes);
        set => Volatile.Write(ref _freeBytes, value);
    }

    /// <summary>Called when it begins; must be quick.</summary>
    public Action? Filled { get; set; }

    public void Enter(ReadOnlyReason reason, DiskException? cause)
    {
        if ((Interlocked.Or(ref _reasons, (int)reason) & (int)reason) != 0)
            return;
        Log.ReadOnlyEntered(logger, cause, directory, reason, FreeBytes, options.EffectiveReserveBytes);
        waiters.TellAll();
        keeper.Raise();
        Filled?.Invoke();
    }

    public void Leave(ReadOnlyReason reason)
    {
        if ((Interlocked.And(ref _reasons, ~(int)reason) & (int)reason) == 0)
            return;
        Log.ReadOnlyLeft(logger, directory, reason, FreeBytes);
        waiters.TellAll();
    }
}
