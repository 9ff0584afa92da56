using System.Numerics;

namespace EQueue.Remoting;

/// <summary>The requests of one client that wait for answers.</summary>
/// <remarks>
/// <para>A correlation id is a slot's index in the low bits and the slot's use count above: an answer that comes late
/// finds another count there and is dropped. Slots are used in turn, so a count comes round after as many calls as
/// fit into 32 bits, or into the slots in use so far times the counts.</para>
/// <para>A call has several would-be enders (answer, timeout, cancellation, lost connection); the one that swaps the
/// armed id for 0 ends it and calls its sink. Thread-safe.</para>
/// <para>Who calls and who receives have a lock each, and meet only when free slots run short.</para>
/// </remarks>
internal sealed class InFlightRing
{
    private const int FirstSlotCount = 256;

    private readonly Lock _lock = new();
    private readonly Queue<int> _free = new();
    private readonly Lock _freeingLock = new();
    private readonly List<int> _freed = [];
    private readonly Action<Exception> _onSinkFailed;
    private readonly int _maxSlots;
    private readonly int _indexBits;
    private PendingCall[] _slots = [];
    private TaskCompletionSource? _whenFree;
    private long _earliestDeadline = long.MaxValue;
    private PaddedCount _taken;
    private PaddedCount _ended;

    /// <param name="maxSlots">Requests at a time: a power of two.</param>
    /// <param name="onSinkFailed">Told when a sink throws.</param>
    public InFlightRing(int maxSlots, Action<Exception> onSinkFailed)
    {
        _maxSlots = maxSlots;
        _indexBits = BitOperations.Log2((uint)maxSlots);
        _onSinkFailed = onSinkFailed;
    }

    /// <summary>Requests that wait for answers now; while some end, rather too many than too few.</summary>
    public int InFlight
    {
        get
        {
            int ended = Volatile.Read(ref _ended.Value);
            return unchecked(Volatile.Read(ref _taken.Value) - ended);
        }
    }

    /// <summary>Arms a slot for a request that is about to be sent.</summary>
    /// <param name="sink">Told of the outcome; <see langword="null"/> = the slot's own
    /// <see cref="PendingCall"/>.</param>
    /// <param name="token">Handed to the sink.</param>
    /// <param name="owner">The connection on which it goes out.</param>
    /// <param name="deadline">When it is overdue, in the milliseconds of the client's clock.</param>
    /// <param name="id">The correlation id, never 0.</param>
    /// <param name="call">The slot's own sink when none was given.</param>
    /// <returns><see langword="false"/> when all slots are armed.</returns>
    public bool TryTake(
        IResponseSink? sink, long token, object owner, long deadline, out uint id, out PendingCall? call)
    {
        id = 0;
        call = null;
        lock (_lock)
        {
            if (_free.Count <= _slots.Length / 2) CollectFreed();
            if (_free.Count <= _slots.Length / 2) Grow();
            if (_free.Count == 0) return false;
            int index = _free.Dequeue();
            PendingCall slot = _slots[index];
            if (sink is null)
            {
                if (!slot.TryTake()) slot = ReplaceAt(index);
                sink = call = slot;
            }

            uint useCount = NextUse(slot.UseCount);
            id = (useCount << _indexBits) | (uint)index;
            if (deadline < _earliestDeadline) Volatile.Write(ref _earliestDeadline, deadline);
            Volatile.Write(ref _taken.Value, unchecked(_taken.Value + 1));
            slot.Arm(useCount, id, sink, token, owner, deadline);
            return true;
        }
    }

    /// <summary>Ends the call of this id and hands its sink over; only one caller per call succeeds.</summary>
    public bool TryEnd(uint id, out Ending ending)
    {
        if (!TryDisarm(id, out ending)) return false;
        Free([id]);
        return true;
    }

    /// <summary>The same, but the slot is not free until <see cref="Free"/>.</summary>
    public bool TryDisarm(uint id, out Ending ending)
    {
        PendingCall[] slots = Volatile.Read(ref _slots);
        int index = IndexOf(id);
        if (id != 0 && index < slots.Length) return slots[index].TryDisarm(id, out ending);
        ending = default;
        return false;
    }

    /// <summary>The slots of these ids, all disarmed, may be taken again.</summary>
    public void Free(ReadOnlySpan<uint> ids)
    {
        TaskCompletionSource? whenFree;
        lock (_freeingLock)
        {
            foreach (uint id in ids) _freed.Add(IndexOf(id));
            Volatile.Write(ref _ended.Value, unchecked(_ended.Value + ids.Length));
            (whenFree, _whenFree) = (_whenFree, null);
        }

        whenFree?.TrySetResult();
    }

    /// <summary>Ends the call of this id, if it is not over, with an error.</summary>
    public void Fail(uint id, RemotingException exception)
    {
        if (TryEnd(id, out Ending ending)) Tell(ending.Sink, ending.Token, exception);
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
        if (InFlight == 0) return;
        foreach (PendingCall slot in Volatile.Read(ref _slots))
        {
            uint id = slot.ArmedId;
            if (id != 0 && (owner is null || ReferenceEquals(slot.Owner, owner))) Fail(id, makeException());
        }
    }

    /// <summary>Fails all calls whose deadline is over. Looks at the slots only when one may be: clients are many, and
    /// each asks often.</summary>
    public void FailOverdue(long now)
    {
        if (now < Volatile.Read(ref _earliestDeadline)) return;
        lock (_lock) _earliestDeadline = long.MaxValue;
        long earliest = long.MaxValue;
        foreach (PendingCall slot in Volatile.Read(ref _slots))
        {
            uint id = slot.ArmedId;
            long deadline = slot.Deadline;
            if (id == 0) continue;
            if (deadline > now) earliest = Math.Min(earliest, deadline);
            else Fail(id, Failures.TimedOut("no answer before the request's deadline"));
        }

        lock (_lock) _earliestDeadline = Math.Min(_earliestDeadline, earliest);
    }

    /// <summary>Completes when a slot may be free; whoever waits then tries again.</summary>
    public Task WhenFree()
    {
        lock (_lock)
        {
            lock (_freeingLock)
            {
                if (_free.Count > 0 || _freed.Count > 0 || _slots.Length < _maxSlots) return Task.CompletedTask;
                _whenFree ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                return _whenFree.Task;
            }
        }
    }

    private int IndexOf(uint id) => (int)(id & ((1u << _indexBits) - 1));

    private void CollectFreed()
    {
        lock (_freeingLock)
        {
            foreach (int index in _freed) _free.Enqueue(index);
            _freed.Clear();
        }
    }

    /// <summary>Adds slots before they run short: a slot that rests a while finds its own sink free again.</summary>
    private void Grow()
    {
        int old = _slots.Length;
        int count = Math.Min(Math.Max(old * 2, FirstSlotCount), _maxSlots);
        if (count == old) return;

        var grown = new PendingCall[count];
        _slots.CopyTo(grown, 0);
        for (int i = old; i < count; i++)
        {
            grown[i] = new PendingCall(this);
            _free.Enqueue(i);
        }

        Volatile.Write(ref _slots, grown);
    }

    /// <summary>Nobody has taken the last result there, and perhaps nobody will.</summary>
    private PendingCall ReplaceAt(int index)
    {
        PendingCall slot = PendingCall.InPlaceOf(_slots[index], this);
        slot.TryTake();
        Volatile.Write(ref _slots[index], slot);
        return slot;
    }

    private uint NextUse(uint useCount)
    {
        uint next = (useCount + 1) & (uint.MaxValue >> _indexBits);
        return next == 0 ? 1 : next;
    }

    /// <summary>Whom to tell that a call is over.</summary>
    internal readonly record struct Ending(IResponseSink Sink, long Token);
}
