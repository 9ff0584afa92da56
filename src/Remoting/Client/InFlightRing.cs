using System.Diagnostics.CodeAnalysis;
using System.Numerics;

namespace EQueue.Remoting;

/// <summary>The requests of one client that wait for answers.</summary>
/// <remarks>
/// <para>A correlation id is a slot's index in the low bits and the slot's use count above: an answer that comes late
/// finds another count there and is dropped. Slots are used in turn, so a count comes round after as many calls as
/// fit into 32 bits, or into the slots in use so far times the counts.</para>
/// <para>A call has several would-be enders (answer, timeout, cancellation, lost connection); the one that swaps the
/// armed id for 0 ends it and calls its sink. Thread-safe.</para>
/// <para>Who calls and who receives have a lock each, and meet only when free slots run short. What both write for a
/// call lies in its <see cref="CallCell"/>.</para>
/// </remarks>
internal sealed class InFlightRing
{
    private const int FirstSlotCount = 256;

    private readonly Queue<int> _free = new();
    private readonly Lock _freeingLock = new();
    private readonly List<int> _freed = [];
    private readonly Action<Exception> _onSinkFailed;
    private readonly Action<long>? _onEarlierDeadline;
    private readonly int _maxSlots;
    private readonly int _indexBits;
    private PendingCall[] _slots = [];
    private TaskCompletionSource? _whenFree;
    private long _earliestDeadline = long.MaxValue;
    private PaddedCount _taken;
    private PaddedCount _ended;

    /// <param name="maxSlots">Requests at a time: a power of two.</param>
    /// <param name="onSinkFailed">Told when a sink throws.</param>
    /// <param name="onEarlierDeadline">Told, under <see cref="Gate"/>, of a deadline before all others.</param>
    public InFlightRing(int maxSlots, Action<Exception> onSinkFailed, Action<long>? onEarlierDeadline = null)
    {
        _maxSlots = maxSlots;
        _indexBits = BitOperations.Log2((uint)maxSlots);
        _onSinkFailed = onSinkFailed;
        _onEarlierDeadline = onEarlierDeadline;
    }

    /// <summary>Guards what callers change, slots and what lies behind them in the queue of a connection's sender: a
    /// call takes one lock for both.</summary>
    public Gate Gate { get; } = new();

    private uint UseCountMask => uint.MaxValue >> _indexBits;

    /// <summary>Requests that wait for answers now; while some end, rather too many than too few.</summary>
    public int InFlight
    {
        get
        {
            int ended = Volatile.Read(ref _ended.Value);
            return unchecked(Volatile.Read(ref _taken.Value) - ended);
        }
    }

    /// <summary>Before this no call is overdue, in the milliseconds of the client's clock.</summary>
    public long EarliestDeadline => Volatile.Read(ref _earliestDeadline);

    /// <summary>Arms a slot for a request that is about to be sent.</summary>
    /// <param name="sink">Told of the outcome; <see langword="null"/> = the slot's own
    /// <see cref="PendingCall"/>.</param>
    /// <param name="token">Handed to the sink.</param>
    /// <param name="owner">The connection on which it goes out.</param>
    /// <param name="deadline">When it is overdue, in the milliseconds of the client's clock.</param>
    /// <param name="cancellationToken">Ends the call; the sender of its request then calls
    /// <see cref="FailIfCancelled"/>.</param>
    /// <param name="id">The correlation id, never 0.</param>
    /// <param name="call">The slot, its own sink when none was given.</param>
    /// <returns><see langword="false"/> when all slots are armed.</returns>
    public bool TryTake(
        IResponseSink? sink,
        long token,
        object owner,
        long deadline,
        CancellationToken cancellationToken,
        out uint id,
        [NotNullWhen(true)] out PendingCall? call)
    {
        var watch = CallWatch.Begin(this, cancellationToken);
        bool isTaken;
        using (Gate.Enter())
            isTaken = TryTake(sink, token, owner, deadline, watch, out id, out call);
        if (!isTaken)
            watch?.End();
        return isTaken;
    }

    /// <summary>The same under <see cref="Gate"/>. When it fails, the caller ends the watch.</summary>
    public bool TryTake(
        IResponseSink? sink,
        long token,
        object owner,
        long deadline,
        CallWatch? watch,
        out uint id,
        [NotNullWhen(true)] out PendingCall? call)
    {
        id = 0;
        call = null;
        if (_free.Count <= _slots.Length / 2)
            CollectFreed();
        if (_free.Count <= _slots.Length / 2)
            Grow();
        if (_free.Count == 0)
            return false;
        int index = _free.Dequeue();
        call = _slots[index];
        if (!call.TryTake(sink is null, UseCountMask, out uint useCount))
        {
            call = ReplaceAt(index);
            call.TryTake(sink is null, UseCountMask, out useCount);
        }

        id = (useCount << _indexBits) | (uint)index;
        watch?.Join(id);
        Volatile.Write(ref _taken.Value, unchecked(_taken.Value + 1));
        call.Arm(id, sink, token, owner, watch, deadline);
        if (deadline >= _earliestDeadline)
            return true;
        Volatile.Write(ref _earliestDeadline, deadline);
        _onEarlierDeadline?.Invoke(deadline);
        return true;
    }

    /// <summary>Ends the wait of this id; only one caller per call succeeds, who counts it
    /// (<see cref="CountEnded"/>), ends its watch, tells its sink and frees the slot
    /// (<see cref="Free"/>).</summary>
    public bool TryDisarm(uint id, out Ending ending)
    {
        PendingCall[] slots = Volatile.Read(ref _slots);
        int index = IndexOf(id);
        if (id != 0 && index < slots.Length)
            return slots[index].TryDisarm(id, out ending);
        ending = default;
        return false;
    }

    /// <summary>How long each further answer may take; null = the sink takes one answer.</summary>
    public static TimeSpan? PauseOf(IResponseSink? sink) =>
        sink is IAnswersSink { LongestPause: var pause } && pause > TimeSpan.Zero ? pause : null;

    /// <summary>An answer came after which others follow: finds whom to tell.</summary>
    /// <param name="id">Of the call.</param>
    /// <param name="clock">The client's.</param>
    /// <param name="ending">Whom; told by <see cref="Answer"/>.</param>
    /// <returns>False when the call is over, or takes one answer alone.</returns>
    public bool TryGoOn(uint id, CallClock clock, out Ending ending)
    {
        PendingCall[] slots = Volatile.Read(ref _slots);
        int index = IndexOf(id);
        ending = default;
        if (id == 0 || index >= slots.Length || !slots[index].TryPeek(id, out ending)
            || PauseOf(ending.Sink) is not { } pause)
        {
            return false;
        }

        slots[index].PutOff(id, clock.DeadlineOf(pause));
        return true;
    }

    /// <summary>For the thread that armed a call: fails it if its token was cancelled before that could be
    /// told.</summary>
    public void FailIfCancelled(uint id, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
            Fail(id, Failures.Cancelled(cancellationToken));
    }

    /// <summary>So many calls are over.</summary>
    public void CountEnded(int count) => Interlocked.Add(ref _ended.Value, count);

    /// <summary>The slots of these ids, all disarmed, may be taken again. Those of awaited calls only when their
    /// awaiters were claimed: what is found there later is another call's.</summary>
    public void Free(ReadOnlySpan<uint> ids)
    {
        TaskCompletionSource? whenFree;
        lock (_freeingLock)
        {
            foreach (uint id in ids)
                _freed.Add(IndexOf(id));
            (whenFree, _whenFree) = (_whenFree, null);
        }

        whenFree?.TrySetResult();
    }

    /// <summary>Ends the call of this id, if it is not over, with an error.</summary>
    public void Fail(uint id, RemotingException exception)
    {
        if (!TryDisarm(id, out Ending ending))
            return;
        CountEnded(1);
        ending.Watch?.End();
        if (ending.Sink is PendingCall call)
            call.OnFailure(ending.Token, exception);
        Free([id]);
        if (ending.Sink is not PendingCall)
            Tell(ending.Sink, ending.Token, exception);
    }

    /// <summary>Tells a sink of a failure.</summary>
    public void Tell(IResponseSink sink, long token, RemotingException exception)
    {
        try
        {
            sink.OnFailure(token, exception);
        }
        catch (Exception thrown)
        {
            _onSinkFailed(thrown);
        }
    }

    /// <summary>Ends the call of this id with its answer.</summary>
    public void Answer(in Ending ending, ResponseFrame response)
    {
        try
        {
            ending.Sink.OnResponse(ending.Token, response);
        }
        catch (Exception thrown)
        {
            _onSinkFailed(thrown);
        }
    }

    /// <summary>Fails all calls that went out on this connection; <see langword="null"/> = all calls.</summary>
    public void FailAll(object? owner, Func<RemotingException> makeException)
    {
        if (InFlight == 0)
            return;
        foreach (PendingCall slot in Volatile.Read(ref _slots))
        {
            uint id = slot.ArmedId;
            if (id != 0 && (owner is null || ReferenceEquals(slot.Owner, owner)))
                Fail(id, makeException());
        }
    }

    /// <summary>Fails all calls whose deadline is over. Looks at the slots only when one may
    /// be.</summary>
    public void FailOverdue(long now)
    {
        if (now < Volatile.Read(ref _earliestDeadline))
            return;
        using (Gate.Enter())
            _earliestDeadline = long.MaxValue;
        long earliest = long.MaxValue;
        foreach (PendingCall slot in Volatile.Read(ref _slots))
        {
            uint id = slot.ArmedId;
            long deadline = slot.Deadline;
            if (id == 0)
                continue;
            if (deadline > now)
                earliest = Math.Min(earliest, deadline);
            else
                Fail(id, Failures.TimedOut("no answer before the request's deadline"));
        }

        using (Gate.Enter())
            _earliestDeadline = Math.Min(_earliestDeadline, earliest);
    }

    /// <summary>Completes when a slot may be free; the waiting caller then tries again.</summary>
    public Task WhenFree()
    {
        Task whenFree = Task.CompletedTask;
        using (Gate.Enter())
        {
            lock (_freeingLock)
            {
                if (_free.Count == 0 && _freed.Count == 0 && _slots.Length == _maxSlots)
                {
                    _whenFree ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                    whenFree = _whenFree.Task;
                }
            }
        }

        return whenFree;
    }

    private int IndexOf(uint id) => (int)(id & ((1u << _indexBits) - 1));

    private void CollectFreed()
    {
        lock (_freeingLock)
        {
            foreach (int index in _freed)
                _free.Enqueue(index);
            _freed.Clear();
        }
    }

    /// <summary>Adds slots before they run short: a slot that rests a while finds its own sink free again.</summary>
    private void Grow()
    {
        int old = _slots.Length;
        int count = Math.Min(Math.Max(old * 2, FirstSlotCount), _maxSlots);
        if (count == old)
            return;

        var grown = new PendingCall[count];
        _slots.CopyTo(grown, 0);
        byte[] cells = CallCell.Allocate(count - old, out int first);
        for (int i = old; i < count; i++)
        {
            grown[i] = new PendingCall(cells, first + ((i - old) * CallCell.Size));
            _free.Enqueue(i);
        }

        Volatile.Write(ref _slots, grown);
    }

    /// <summary>The last result there was not taken, and perhaps never will be.</summary>
    private PendingCall ReplaceAt(int index)
    {
        var slot = PendingCall.InPlaceOf(_slots[index]);
        Volatile.Write(ref _slots[index], slot);
        return slot;
    }

    /// <summary>Whom to tell that a call is over, and what watches its token.</summary>
    internal readonly record struct Ending(IResponseSink Sink, long Token, CallWatch? Watch);
}
