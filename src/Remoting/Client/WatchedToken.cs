namespace EQueue.Remoting;

/// <summary>One registration with a cancellation token, for all calls of a ring that are made with it while one of them
/// is under way: to register each call would take a tenth of its time.</summary>
/// <remarks>It ends with the last of them, before that is seen to be over: a caller that knows its calls are over may
/// use the token's source for something else.</remarks>
internal sealed class WatchedToken(InFlightRing ring)
{
    private CancellationTokenRegistration _registration;
    private int _joined;
    private PaddedCount _left;

    /// <summary>What is watched.</summary>
    public CancellationToken Token { get; private set; }

    /// <summary>Whether calls may join. Under the ring's gate.</summary>
    public bool IsOpen { get; private set; }

    /// <summary>Its only call, if <see cref="HasOne"/>.</summary>
    public uint FirstId { get; private set; }

    /// <summary>Whether no second call has joined.</summary>
    public bool HasOne => Volatile.Read(ref _joined) == 1;

    /// <summary>Watches a token; not under a lock, because one that is cancelled tells at once.</summary>
    public void Begin(CancellationToken token)
    {
        Token = token;
        _joined = 0;
        _left.Value = 0;
        _registration = token.UnsafeRegister(static watched => ((WatchedToken)watched!).Tell(), this);
    }

    /// <summary>Lets the first call join, others may follow. Under the ring's gate.</summary>
    public void Open(uint id)
    {
        FirstId = id;
        IsOpen = true;
        Join();
    }

    /// <summary>Counts a call; before it is armed, under the ring's gate.</summary>
    public void Join() => Volatile.Write(ref _joined, _joined + 1);

    /// <summary>Counts calls that are over. Thread-safe.</summary>
    /// <returns>Whether none seems to be left: <see cref="TryClose"/>.</returns>
    public bool Leave(int count) => Interlocked.Add(ref _left.Value, count) == Volatile.Read(ref _joined);

    /// <summary>Ends it for new calls if none is left. Under the ring's gate.</summary>
    public bool TryClose()
    {
        if (!IsOpen || Volatile.Read(ref _left.Value) != _joined)
            return false;
        IsOpen = false;
        return true;
    }

    /// <summary>Ends the registration of a watch without calls. Not under a lock.</summary>
    /// <returns>Whether it may be used again; not when the token has been cancelled.</returns>
    public bool TryEnd()
    {
        bool isFree = _registration.Unregister();
        if (isFree)
            Token = default;
        return isFree;
    }

    private void Tell() => ring.FailCancelled(this);
}
