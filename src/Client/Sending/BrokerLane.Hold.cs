namespace EQueue.Client;

/// <content>
/// While the continuations of an answer run, what they send is gathered: batches that are not full leave when the last
/// of them has run. Otherwise half of those who send in turn with their receipts would always be under way and the
/// other half in the open batch, and every batch would be half as large.
/// </content>
internal sealed partial class BrokerLane
{
    /// <summary>Fewer messages than these are not worth it for the few that wait already.</summary>
    private const int LeastHeld = 8;

    /// <summary>After this a continuation is taken to be blocked, and what it has sent leaves all the same.</summary>
    private static readonly TimeSpan LongestHold = TimeSpan.FromMilliseconds(5);

    private int _holds;
    private int _holdAge;
    private long _holdsSince;

    /// <summary>The continuations of a batch have run.</summary>
    /// <param name="age">As given to the batch; of holds that were ended before their time it says nothing.</param>
    public void EndHold(int age)
    {
        bool mustDispatch;
        using (_gate.Enter())
        {
            if (age != _holdAge || --_holds > 0)
                return;
            mustDispatch = MustDispatch();
            if (!mustDispatch && HasOpen())
                ArmPace();
        }

        if (mustDispatch)
            Dispatch();
    }

    /// <summary>A sender is about to block: what it waits for must leave.</summary>
    public void EndHolds()
    {
        if (Volatile.Read(ref _holds) == 0)
            return;
        using (_gate.Enter())
        {
            _holds = 0;
            _holdAge++;
        }

        Dispatch();
    }

    private void BeginHold(List<SettledBatch> settled)
    {
        int messages = 0;
        foreach (SettledBatch one in settled)
            messages += one.Batch.Awaitables;
        if (messages < LeastHeld)
            return;
        using (_gate.Enter())
        {
            foreach (SettledBatch one in settled)
            {
                if (one.Batch.Awaitables == 0)
                    continue;
                one.Batch.HoldAge = _holdAge;
                if (_holds++ == 0)
                    _holdsSince = _time.GetTimestamp();
            }

            Arm(_holdsSince + ToTicks(LongestHold));
        }
    }

    /// <summary>Under the gate.</summary>
    private void EndOldHolds(long now)
    {
        if (_holds == 0)
            return;
        long end = _holdsSince + ToTicks(LongestHold);
        if (now < end)
        {
            Arm(end);
            return;
        }

        _holds = 0;
        _holdAge++;
    }
}
