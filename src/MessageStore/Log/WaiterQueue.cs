using System.Diagnostics;

namespace EQueue.MessageStore;

/// <summary>Append waiters in the order of their requests, linked through themselves. Owned by one thread, or kept
/// under a lock.</summary>
internal struct WaiterQueue
{
    private AppendWaiter? _first;
    private AppendWaiter? _last;

    public readonly bool IsEmpty => _first is null;

    public void Add(AppendWaiter waiter, long target)
    {
        Debug.Assert(waiter.Next is null, "a waiter waits once at a time");
        waiter.Target = target;
        if (_last is null)
        {
            _first = waiter;
        }
        else
        {
            _last.Next = waiter;
        }
        _last = waiter;
    }

    /// <summary>Takes all of another queue behind those of this one.</summary>
    public void TakeAll(ref WaiterQueue other)
    {
        if (other._first is null)
            return;
        if (_last is null)
        {
            _first = other._first;
        }
        else
        {
            _last.Next = other._first;
        }
        _last = other._last;
        other = default;
    }

    /// <summary>Takes the waiters at the front whose target is reached. A duplicate's target may lie behind the one
    /// before it: it goes with that one.</summary>
    public WaiterQueue TakeReached(long reached)
    {
        WaiterQueue taken = default;
        if (_first is null || _first.Target > reached)
            return taken;
        AppendWaiter last = _first;
        while (last.Next is { } next && next.Target <= reached)
            last = next;
        (taken._first, taken._last) = (_first, last);
        _first = last.Next;
        last.Next = null;
        if (_first is null)
            _last = null;
        return taken;
    }

    /// <summary>Tells all that their level is reached.</summary>
    public void Complete()
    {
        while (_first is { } waiter)
        {
            Unlink(waiter);
            waiter.OnCompleted(null);
        }
    }

    /// <summary>Tells all that the level will never be reached.</summary>
    public void Fail(Exception fault)
    {
        while (_first is { } waiter)
        {
            Unlink(waiter);
            waiter.OnCompleted(fault);
        }
    }

    private void Unlink(AppendWaiter waiter)
    {
        // Before the call: the waiter may be used again inside it.
        _first = waiter.Next;
        waiter.Next = null;
        if (_first is null)
            _last = null;
    }
}
