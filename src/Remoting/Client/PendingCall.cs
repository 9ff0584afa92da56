using System.Diagnostics;
using System.Runtime.ExceptionServices;
using System.Threading.Tasks.Sources;

namespace EQueue.Remoting;

/// <summary>One slot of the ring: who is told of a request's answer, and the value-task source of its awaiter.
/// It serves one call after the other.</summary>
/// <remarks>
/// <para>Which of the would-be enders of a call ends it is the ring's matter; the source is told once per call. It
/// tells in steps, so that of answers that came together all can be seen before the first awaiter continues: who awaits
/// call after call then waits once for all of them.</para>
/// <para>The source is free again when the result was taken, and, if that is a small answer, disposed. One whose result
/// is never taken is left to the garbage collector, and the ring puts another slot in its place. A second await of the
/// same value task throws.</para>
/// <para>What changes with every call lies in a <see cref="CallCell"/>; the references here are written only when they
/// change.</para>
/// </remarks>
/// <param name="cells">The array of the cells, of which one is the slot's.</param>
/// <param name="start">Where that begins.</param>
internal sealed class PendingCall(byte[] cells, int start)
    : FrameMemory(cells), IResponseSink, IValueTaskSource<ResponseFrame>
{
    /// <summary><see langword="null"/> = the slot itself.</summary>
    private IResponseSink? _sink;
    private object? _owner;
    private CallWatch? _watch;
    private long _sinkToken;
    private long _deadline;
    private Action<object?>? _continuation;
    private Action<object?>? _waiting;
    private object? _state;
    private RemotingException? _exception;
    private ResponseFrame _response;

    /// <summary>The id of the request that waits for its answer here; 0 = none.</summary>
    public uint ArmedId => Volatile.Read(ref Cell.ArmedId);

    /// <summary>When that is overdue, in the milliseconds of the client's clock.</summary>
    public long Deadline => Volatile.Read(ref _deadline);

    /// <summary>The connection on which it went out.</summary>
    public object? Owner => Volatile.Read(ref _owner);

    /// <summary>The caller's view of the call for which the slot was taken, to be awaited once.</summary>
    public ValueTask<ResponseFrame> Task => new(this, (short)Cell.Ticket);

    private ref CallCell Cell => ref CallCell.At(Array, start);

    /// <summary>Makes a slot that continues the count of one that was left with its result untaken. Its cell
    /// is not pinned to a line: a caller that leaves many must not fill the heap of pinned arrays.</summary>
    public static PendingCall InPlaceOf(PendingCall left)
    {
        var slot = new PendingCall(new byte[CallCell.Size], 0);
        slot.Cell.Ticket = left.Cell.Ticket;
        return slot;
    }

    /// <summary>Takes the slot for one call. Under the ring's gate, so that there is one taker at a time.</summary>
    /// <param name="isAwaited">Whether by its own sink.</param>
    /// <param name="useCountMask">Of an id.</param>
    /// <param name="useCount">The ring's part of an id, not 0.</param>
    /// <returns><see langword="false"/> while the previous call's result was not taken.</returns>
    public bool TryTake(bool isAwaited, uint useCountMask, out uint useCount)
    {
        ref CallCell cell = ref Cell;
        useCount = 0;
        if (Volatile.Read(ref cell.HeldBy) != 0)
            return false;
        int ticket = cell.Ticket;
        do
        {
            ticket = ticket == int.MaxValue ? 1 : ticket + 1;
            useCount = (uint)ticket & useCountMask;
        }
        while (useCount == 0);
        cell.Ticket = ticket;
        if (!isAwaited)
            return true;
        cell.State = CallState.UnderWay;
        cell.HeldBy = ticket;
        return true;
    }

    /// <summary>Arms the slot for the request that is sent next. Under the ring's gate.</summary>
    public void Arm(uint id, IResponseSink? sink, long sinkToken, object owner, CallWatch? watch, long deadline)
    {
        if (_sink != sink)
            _sink = sink;
        if (_owner != owner)
            _owner = owner;
        if (_watch != watch)
            _watch = watch;
        if (_sinkToken != sinkToken)
            _sinkToken = sinkToken;
        if (_deadline != deadline)
            Volatile.Write(ref _deadline, deadline);
        Volatile.Write(ref Cell.ArmedId, id);
    }

    /// <summary>Ends the wait of this id; one caller per call succeeds.</summary>
    /// <param name="id">Not 0.</param>
    /// <param name="ending">Who is to be told.</param>
    public bool TryDisarm(uint id, out InFlightRing.Ending ending)
    {
        Debug.Assert(id != 0, "0 is not armed.");
        if (Interlocked.CompareExchange(ref Cell.ArmedId, 0, id) != id)
        {
            ending = default;
            return false;
        }

        ending = new InFlightRing.Ending(_sink ?? this, _sinkToken, _watch);
        if (_sink is not null)
            _sink = null;
        if (_watch is not null)
            _watch = null;
        return true;
    }

    /// <summary>Says who is told of the call of this id, which goes on.</summary>
    /// <returns>False when it is over.</returns>
    public bool TryPeek(uint id, out InFlightRing.Ending ending)
    {
        ending = new InFlightRing.Ending(_sink ?? this, _sinkToken, _watch);

        // Armed still, so it was when that was read: an id does not come back while its answers arrive.
        Interlocked.MemoryBarrier();
        return ArmedId == id;
    }

    /// <summary>Gives the call of this id until then, unless it is over.</summary>
    public void PutOff(uint id, long deadline)
    {
        // Compared, so that the deadline of a call that has taken the slot meanwhile stays as it is.
        long known = Deadline;
        if (ArmedId == id)
            Interlocked.CompareExchange(ref _deadline, deadline, known);
    }

    /// <summary>Keeps the answer and lets it be seen; <see cref="TryClaim"/> follows.</summary>
    public void Show(in ResponseFrame response)
    {
        _response = response;
        Volatile.Write(ref Cell.State, CallState.Answered);
    }

    /// <summary>Copies an answer of at most <see cref="CallCell.SmallBytes"/>; <see cref="Show()"/> follows.</summary>
    public void Keep(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        Span<byte> frame = Array.AsSpan(start + CallCell.SmallAt, CallCell.SmallBytes);
        header.Write(frame);
        payload.CopyTo(frame[FrameHeader.Size..]);
    }

    /// <summary>Lets the answer be seen that was copied.</summary>
    public void Show() => Volatile.Write(ref Cell.State, CallState.AnsweredHere);

    /// <summary>Takes over the awaiter of what was shown, to be notified by <see cref="GoOn"/>. Behind a full fence,
    /// and while the ring does not give the slot to another call.</summary>
    /// <returns>False when there is no awaiter, or when it sees the outcome itself.</returns>
    public bool TryClaim()
    {
        int ticket = Volatile.Read(ref Cell.WaitedBy);
        return ticket != 0 && TryClaimOf(ticket);
    }

    /// <summary>The awaiter continues on the thread pool.</summary>
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
        Show(response);
        Tell();
    }

    /// <inheritdoc/>
    public void OnFailure(long token, RemotingException exception)
    {
        _exception = exception;
        Volatile.Write(ref Cell.State, CallState.Failed);
        Tell();
    }

    /// <inheritdoc/>
    public ValueTaskSourceStatus GetStatus(short token) => SeenState(token) switch
    {
        CallState.UnderWay => ValueTaskSourceStatus.Pending,
        CallState.Failed => ValueTaskSourceStatus.Faulted,
        _ => ValueTaskSourceStatus.Succeeded,
    };

    /// <inheritdoc/>
    public void OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        ArgumentNullException.ThrowIfNull(continuation);
        SeenState(token);
        if (flags != ValueTaskSourceOnCompletedFlags.None
            && CapturedContinuation.TryCapture(continuation, state, flags) is { } captured)
        {
            (continuation, state) = (CapturedContinuation.Run, captured);
        }

        ref CallCell cell = ref Cell;
        int ticket = cell.Ticket;
        if (Volatile.Read(ref cell.WaitedBy) != 0)
            throw AwaitedTwice();
        _continuation = continuation;
        _state = state;
        if (Interlocked.CompareExchange(ref cell.WaitedBy, ticket, 0) != 0)
            throw AwaitedTwice();

        // The thread that shows the outcome looks for an awaiter afterwards: one of the two sees the other. By now the
        // awaiter may have gone on, and the slot be another call's: a thread that claims this one's ticket knows that
        // it is not.
        if (Volatile.Read(ref cell.State) != CallState.UnderWay && TryClaimOf(ticket))
            GoOn();
    }

    /// <inheritdoc/>
    public ResponseFrame GetResult(short token)
    {
        int state = SeenState(token);
        if (state == CallState.UnderWay)
            throw new InvalidOperationException("The call is not over: await it.");
        ref CallCell cell = ref Cell;
        cell.State = CallState.Taken;
        if (state == CallState.AnsweredHere)
            return new ResponseFrame(this, start + CallCell.SmallAt, cell.HeldBy);

        ResponseFrame response = _response;
        RemotingException? exception = _exception;
        _response = default;
        _exception = null;
        Volatile.Write(ref cell.HeldBy, 0);
        if (exception is not null)
            ExceptionDispatchInfo.Throw(exception);
        return response;
    }

    /// <summary>The answer in the cell is not needed any more; does nothing when that was told before.</summary>
    public override void EndLease(int frameStart, int ticket)
    {
        if (Volatile.Read(ref Cell.HeldBy) != ticket)
            return;
        PinnedMemory.Poison(Array.AsSpan(start + CallCell.SmallAt, CallCell.SmallBytes));
        Interlocked.CompareExchange(ref Cell.HeldBy, 0, ticket);
    }

    private static InvalidOperationException AwaitedTwice() =>
        new("A call was awaited twice: its ValueTask may be awaited once (or call AsTask()).");

    private void Tell()
    {
        Interlocked.MemoryBarrier();
        if (TryClaim())
            GoOn();
    }

    private bool TryClaimOf(int ticket)
    {
        if (Interlocked.CompareExchange(ref Cell.WaitedBy, 0, ticket) != ticket)
            return false;
        _waiting = _continuation;
        _continuation = null;
        return true;
    }

    private int SeenState(short token)
    {
        ref CallCell cell = ref Cell;
        int state = Volatile.Read(ref cell.State);
        if (token != (short)cell.Ticket || state == CallState.Taken)
            throw AwaitedTwice();
        return state;
    }
}
