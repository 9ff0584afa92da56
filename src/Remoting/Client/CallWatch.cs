namespace EQueue.Remoting;

/// <summary>The registration of one call with its cancellation token.</summary>
/// <remarks>It ends before the call is seen to be over: a caller that knows its calls are over may use the token's
/// source for something else.</remarks>
internal sealed class CallWatch
{
    private readonly InFlightRing _ring;
    private readonly CancellationToken _token;
    private readonly CancellationTokenRegistration _registration;
    private uint _id;

    private CallWatch(InFlightRing ring, CancellationToken token)
    {
        _ring = ring;
        _token = token;
        _registration = token.UnsafeRegister(static watch => ((CallWatch)watch!).Fail(), this);
    }

    /// <summary>Watches a token; not under a lock, because one that is cancelled already calls back at once.</summary>
    /// <returns><see langword="null"/> when it cannot be cancelled.</returns>
    public static CallWatch? Begin(InFlightRing ring, CancellationToken token) =>
        token.CanBeCanceled ? new CallWatch(ring, token) : null;

    /// <summary>Names the call, once, before it is armed. A cancellation before that is the caller's to see, behind
    /// its arming: <see cref="InFlightRing.FailIfCancelled"/>.</summary>
    public void Join(uint id) => Volatile.Write(ref _id, id);

    /// <summary>Ends the registration.</summary>
    public void End() => _registration.Unregister();

    private void Fail()
    {
        // Either the call that is being armed is seen here, or its caller sees the token.
        _ring.Gate.Pass();
        uint id = Volatile.Read(ref _id);
        if (id != 0)
            _ring.Fail(id, Failures.Cancelled(_token));
    }
}
