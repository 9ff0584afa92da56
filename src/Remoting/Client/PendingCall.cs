using System.Threading.Tasks.Sources;

namespace EQueue.Remoting;

/// <summary>The outcome of one awaited call: a value-task source that serves one call after the other.</summary>
/// <remarks>
/// Rented from its slot of the ring by the caller, free again when the result was taken. One that nobody awaits is
/// left to the garbage collector. A second await of the same value task throws.
/// </remarks>
internal sealed class PendingCall(InFlightRing ring) : IResponseSink, IValueTaskSource<ResponseFrame>
{
    private ManualResetValueTaskSourceCore<ResponseFrame> _core = new() { RunContinuationsAsynchronously = true };
    private CancellationTokenRegistration _cancellation;
    private CancellationToken _cancellationToken;
    private uint _id;
    private bool _isTaken;

    /// <summary>Takes the object for one call. Under the ring's lock, so that there is one taker at a time.</summary>
    /// <returns><see langword="false"/> while the previous call's result was not taken.</returns>
    public bool TryTake()
    {
        if (Volatile.Read(ref _isTaken)) return false;
        _isTaken = true;
        return true;
    }

    /// <summary>The caller's view, to be awaited once. Called before the request is sent.</summary>
    public ValueTask<ResponseFrame> Watch(uint id, CancellationToken cancellationToken)
    {
        var task = new ValueTask<ResponseFrame>(this, _core.Version);
        if (!cancellationToken.CanBeCanceled) return task;
        _id = id;
        _cancellationToken = cancellationToken;
        _cancellation = cancellationToken.UnsafeRegister(static call => ((PendingCall)call!).Cancel(), this);
        return task;
    }

    /// <inheritdoc/>
    public void OnResponse(long token, ResponseFrame response) => _core.SetResult(response);

    /// <inheritdoc/>
    public void OnFailure(long token, RemotingException exception) => _core.SetException(exception);

    /// <inheritdoc/>
    public ValueTaskSourceStatus GetStatus(short token) => _core.GetStatus(token);

    /// <inheritdoc/>
    public void OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);

    /// <inheritdoc/>
    public ResponseFrame GetResult(short token)
    {
        if (_core.GetStatus(token) == ValueTaskSourceStatus.Pending)
            throw new InvalidOperationException("The call is not over: await it.");

        // Waits for a cancellation that is under way, so that it cannot meet the next call.
        _cancellation.Dispose();
        _cancellation = default;
        try
        {
            return _core.GetResult(token);
        }
        finally
        {
            _core.Reset();
            Volatile.Write(ref _isTaken, false);
        }
    }

    private void Cancel() => ring.Fail(_id, Failures.Cancelled(_cancellationToken));
}
