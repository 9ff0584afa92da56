using System.Diagnostics;
using System.Runtime.ExceptionServices;
using System.Threading.Tasks.Sources;

namespace EQueue.Remoting;

/// <summary>One slot of the ring: who is told of a request's answer, and the value-task source of whoever awaits it.
/// It serves one call after the other.</summary>
/// <remarks>
/// <para>Which of the would-be enders of a call ends it is the ring's matter; the source is told once per call. It
/// tells in two steps, so that of answers that came together all can be seen before the first awaiter goes on: who
/// awaits call after call then waits once for all of them.</para>
/// <para>The source is free again when the result was taken. One whose result nobody takes is left to the garbage
/// collector, and the ring puts another slot in its place. A second await of the same value task throws.</para>
/// </remarks>
internal sealed class PendingCall(InFlightRing ring) : IResponseSink, IValueTaskSource<ResponseFrame>
{
    /// <summary>Stands for the continuation of a call that is over.</summary>
    private static readonly Action<object?> Over = static _ => throw new InvalidOperationException();

    private IResponseSink? _sink;
    private object? _owner;
    private long _sinkToken;
    private long _deadline;
    private uint _armedId;
    private Action<object?>? _continuation;
    private Action<object?>? _waiting;
    private object? _state;
    private RemotingException? _exception;
    private ResponseFrame _response;
    private CancellationTokenRegistration _cancellation;
    private CancellationToken _cancellationToken;
    private uint _cancelledId;
    private short _version;
    private bool _isCancellable;
    private bool _isTaken;

    /// <summary>How often the slot was taken, the ring's part of an id; of whoever holds the ring's lock.</summary>
    public uint UseCount { get; private set; }

    /// <summary>The id of the request that waits for its answer here; 0 = none.</summary>
    public uint ArmedId => Volatile.Read(ref _armedId);

    /// <summary>When that is overdue, in the milliseconds of the client's clock.</summary>
    public long Deadline => Volatile.Read(ref _deadline);

    /// <summary>The connection on which it went out.</summary>
    public object? Owner => Volatile.Read(ref _owner);

    /// <summary>Makes a slot that goes on counting where another one was left, whose result nobody has taken.</summary>
    public static PendingCall InPlaceOf(PendingCall left, InFlightRing ring) => new(ring) { UseCount = left.UseCount };

    /// <summary>Takes the source for one call. Under the ring's lock, so that there is one taker at a time.</summary>
    /// <returns><see langword="false"/> while the previous call's result was not taken.</returns>
    public bool TryTake()
    {
        if (Volatile.Read(ref _isTaken)) return false;
        _isTaken = true;
        return true;
    }

    /// <summary>Arms the slot for the request that is sent next. Under the ring's lock.</summary>
    public void Arm(uint useCount, uint id, IResponseSink sink, long sinkToken, object owner, long deadline)
    {
        UseCount = useCount;
        _sink = sink;
        _sinkToken = sinkToken;
        _owner = owner;
        _deadline = deadline;
        Volatile.Write(ref _armedId, id);
    }

    /// <summary>Ends the wait of this id; one caller per call succeeds.</summary>
    /// <param name="id">Not 0.</param>
    /// <param name="ending">Who is to be told.</param>
    public bool TryDisarm(uint id, out InFlightRing.Ending ending)
    {
        Debug.Assert(id != 0, "0 is not armed.");
        if (Interlocked.CompareExchange(ref _armedId, 0, id) != id)
        {
            ending = default;
            return false;
        }

        ending = new InFlightRing.Ending(_sink!, _sinkToken);
        _sink = null;
        _owner = null;
        return true;
    }

    /// <summary>The caller's view, to be awaited once. Called before the request is sent.</summary>
    public ValueTask<ResponseFrame> Watch(uint id, CancellationToken cancellationToken)
    {
        var task = new ValueTask<ResponseFrame>(this, _version);
        if (!cancellationToken.CanBeCanceled) return task;
        _cancelledId = id;
        _cancellationToken = cancellationToken;
        _isCancellable = true;
        _cancellation = cancellationToken.UnsafeRegister(static call => ((PendingCall)call!).Cancel(), this);
        return task;
    }

    /// <summary>Keeps the answer; <see cref="TryShow"/> follows.</summary>
    public void Keep(in ResponseFrame response) => _response = response;

    /// <summary>The first step of telling: the outcome can be seen from here on.</summary>
    /// <returns>Whether somebody waits, who is told by <see cref="GoOn"/>.</returns>
    public bool TryShow()
    {
        // With nobody waiting the call may be another one's from here on.
        Action<object?>? waiting = Interlocked.Exchange(ref _continuation, Over);
        if (waiting is null) return false;
        _waiting = waiting;
        return true;
    }

    /// <summary>The second step: the awaiter goes on, on the thread pool.</summary>
    public void GoOn()
    {
        (Action<object?> waiting, object? state) = (_waiting!, _state);
        _waiting = null;
        _state = null;
        ThreadPool.UnsafeQueueUserWorkItem(waiting, state, preferLocal: true);
    }

    /// <inheritdoc/>
    public void OnResponse(long token, ResponseFrame response)
    {
        Keep(response);
        if (TryShow()) GoOn();
    }

    /// <inheritdoc/>
    public void OnFailure(long token, RemotingException exception)
    {
        _exception = exception;
        if (TryShow()) GoOn();
    }

    /// <inheritdoc/>
    public ValueTaskSourceStatus GetStatus(short token)
    {
        Check(token);
        if (!ReferenceEquals(Volatile.Read(ref _continuation), Over)) return ValueTaskSourceStatus.Pending;
        return _exception is null ? ValueTaskSourceStatus.Succeeded : ValueTaskSourceStatus.Faulted;
    }

    /// <inheritdoc/>
    public void OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        ArgumentNullException.ThrowIfNull(continuation);
        Check(token);
        if (flags != ValueTaskSourceOnCompletedFlags.None
            && CapturedContinuation.TryCapture(continuation, state, flags) is { } captured)
        {
            (continuation, state) = (CapturedContinuation.Run, captured);
        }

        if (Volatile.Read(ref _continuation) is null)
        {
            _state = state;
            if (Interlocked.CompareExchange(ref _continuation, continuation, null) is null) return;
            _state = null;
        }

        if (!ReferenceEquals(Volatile.Read(ref _continuation), Over)) throw AwaitedTwice();
        ThreadPool.UnsafeQueueUserWorkItem(continuation, state, preferLocal: true);
    }

    /// <inheritdoc/>
    public ResponseFrame GetResult(short token)
    {
        if (GetStatus(token) == ValueTaskSourceStatus.Pending)
            throw new InvalidOperationException("The call is not over: await it.");

        if (_isCancellable) EndCancellation();
        ResponseFrame response = _response;
        RemotingException? exception = _exception;
        _response = default;
        _exception = null;
        _version++;
        _continuation = null;
        Volatile.Write(ref _isTaken, false);
        if (exception is not null) ExceptionDispatchInfo.Throw(exception);
        return response;
    }

    private static InvalidOperationException AwaitedTwice() =>
        new("A call was awaited twice: its ValueTask may be awaited once (or call AsTask()).");

    private void Check(short token)
    {
        if (token != _version) throw AwaitedTwice();
    }

    /// <summary>Waits for a cancellation that is under way, so that it cannot meet the next call.</summary>
    private void EndCancellation()
    {
        _isCancellable = false;
        _cancellation.Dispose();
        _cancellation = default;
        _cancellationToken = default;
    }

    private void Cancel() => ring.Fail(_cancelledId, Failures.Cancelled(_cancellationToken));
}
