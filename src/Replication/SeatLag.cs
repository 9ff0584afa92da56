using EQueue.Protocol;

namespace EQueue.Replication;

/// <summary>Tells a seat that holds the others up from one that is a little behind, as every follower under load
/// is.</summary>
/// <remarks>
/// A seat is behind while it stands still though there is more, or while it lacks what the leader had some time ago.
/// Each return after it was let out is later than the one before.
/// </remarks>
internal sealed class SeatLag(ReplicaOptions options)
{
    private const int Slots = 10;

    private readonly long[] _behindMs = new long[Slots];
    private readonly int _slotMs = options.LagWindowMs / Slots;
    private long _slot;
    private long _notedMs = -1;
    private long _movedMs;
    private LogPosition _position;
    private LogPosition _target;
    private long _targetMs;
    private int _letOut;
    private long _returnMs;

    /// <summary>Whether it is behind now.</summary>
    public bool IsBehind { get; private set; }

    /// <summary>For how much of the last time it was behind, in milliseconds.</summary>
    public long BehindMs => _behindMs.Sum();

    /// <summary>Whether it was behind for too much of the last time, and for more than twice as long as another: where
    /// all disks are slow no seat is better off without one of them.</summary>
    public bool HoldsUp(SeatLag? other) => BehindMs > options.MostLagMs && BehindMs > 2 * (other?.BehindMs ?? 0);

    /// <summary>Notes how far the seat is, every few milliseconds.</summary>
    /// <param name="position">Its position; null while none counts.</param>
    /// <param name="own">The end of the leader's log.</param>
    /// <param name="nowMs">Now.</param>
    public void Note(LogPosition? position, LogPosition own, long nowMs)
    {
        bool isNew = _notedMs < 0 || nowMs - _notedMs > options.PauseMs; // it was out of the set
        if (isNew)
        {
            _targetMs = _movedMs = nowMs;
            _target = own;
        }

        LogPosition known = position ?? _position;
        if (known > _position || known >= own)
            _movedMs = nowMs;
        _position = known;
        if (position >= _target)
            (_target, _targetMs) = (own, nowMs);
        IsBehind = nowMs - _movedMs > options.StallMs || nowMs - _targetMs > options.LagMs;
        Advance(nowMs);
        if (IsBehind && !isNew)
            _behindMs[_slot % Slots] += nowMs - _notedMs;
        _notedMs = nowMs;
    }

    /// <summary>The leader itself was not running: nothing was noted, and that counts for no follower.</summary>
    public void Forgive(long pauseMs)
    {
        // noted on ticks alone: never after the pause
        if (_notedMs < 0)
            return;
        _notedMs += pauseMs;
        _movedMs += pauseMs;
        _targetMs += pauseMs;
    }

    /// <summary>The seat is let out.</summary>
    /// <returns>For how long it is not let in again, in milliseconds.</returns>
    public int LetOut(long nowMs)
    {
        (int first, int longest) = options.LagBackOffMs;
        // One that was in for long is as one that never left.
        if (nowMs - _returnMs > longest)
            _letOut = 0;
        int wait = (int)Math.Min(longest, first * Math.Pow(4, _letOut++));
        _returnMs = nowMs + wait;
        _notedMs = -1;
        IsBehind = false;
        Array.Clear(_behindMs);
        return wait;
    }

    /// <summary>Whether it is let in again.</summary>
    public bool MayReturn(long nowMs) => nowMs >= _returnMs;

    private void Advance(long nowMs)
    {
        long slot = nowMs / _slotMs;
        for (long passed = Math.Max(_slot + 1, slot - Slots + 1); passed <= slot; passed++)
            _behindMs[passed % Slots] = 0;
        _slot = slot;
    }
}
