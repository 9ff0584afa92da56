namespace EQueue.Client;

/// <summary>When a batch that is not full leaves: the one place that decides.</summary>
/// <remarks>
/// <para>It leaves when it is quiet: no request is in flight, and no continuation runs that may still add to it. Where
/// other queues never let it become quiet, it leaves at its turn: when the requests that were sent before it was opened
/// are answered, and as many more as may be in flight. Over a long way, where quiet would take half a round trip, it
/// leaves at the pace: as often in a round trip as requests may be in flight. Never before its linger is over. A
/// continuation that blocks holds it for 5 ms at most.</para>
/// <para>A oneway batch, which is not answered, leaves when the connection has nothing to send or after 1 ms; full ones
/// that are younger leave before it only until it is 5 ms old.</para>
/// <para>Owned by a <see cref="BrokerLane"/> and used under its gate, but for <see cref="InFlight"/> and
/// <see cref="IsHeld"/>, which any thread may read. Pure: no lock, no I/O, and times are handed in, as timestamps of
/// the lane's clock.</para>
/// </remarks>
internal sealed class LeavingRule
{
    /// <summary>Nothing but an answer, or the end of a continuation, lets it leave.</summary>
    public const long Never = long.MaxValue;

    /// <summary>Continuations of fewer messages are not worth a hold for the few that wait already.</summary>
    public const int LeastHeld = 8;

    /// <summary>A peer that takes nothing, or other traffic that never pauses, holds oneway messages back no
    /// longer.</summary>
    public static readonly TimeSpan LongestOnewayGathering = TimeSpan.FromMilliseconds(1);

    /// <summary>After this a continuation is taken to be blocked, and what it has sent leaves all the same.</summary>
    private static readonly TimeSpan LongestHold = TimeSpan.FromMilliseconds(5);

    /// <summary>On a way that takes less, there and back, quiet comes soon enough.</summary>
    private static readonly TimeSpan LongWay = TimeSpan.FromMilliseconds(8);

    /// <summary>For how long a round trip counts, and as long again at most, while answers come: ways change.</summary>
    private static readonly TimeSpan TripWindow = TimeSpan.FromSeconds(10);

    /// <summary>A oneway batch waits no longer because others fill again and again.</summary>
    private static readonly TimeSpan LongestBehindFull = TimeSpan.FromMilliseconds(5);

    private readonly int _maxInFlight;
    private readonly bool _knowsTheWay;
    private readonly long _ticksPerSecond;
    private readonly long _linger;
    private readonly long _longestHold;
    private int _inFlight;
    private long _sentRequests;
    private long _lastSentAt;
    private long _shortestTrip = Never;
    private long _shortestTripBefore = Never;
    private long _tripsSince;

    /// <summary>Ticks between requests with batches that are not full; 0 = the way is short.</summary>
    private long _pace;
    private int _holds;
    private int _holdNumber;
    private long _heldSince;

    /// <param name="maxInFlight">Requests that may be in flight.</param>
    /// <param name="linger">How long a batch waits although nothing else keeps it.</param>
    /// <param name="knowsTheWay">Whether an answer's time tells how long the way is: not where the broker lets requests
    /// wait for room in a backlog.</param>
    /// <param name="ticksPerSecond">Of the timestamps that are handed in.</param>
    public LeavingRule(int maxInFlight, TimeSpan linger, bool knowsTheWay, long ticksPerSecond)
    {
        _maxInFlight = maxInFlight;
        _knowsTheWay = knowsTheWay;
        _ticksPerSecond = ticksPerSecond;
        _linger = Ticks(linger);
        _longestHold = Ticks(LongestHold);
    }

    /// <summary>Requests that are sent and not answered.</summary>
    public int InFlight => Volatile.Read(ref _inFlight);

    /// <summary>Whether another request may leave.</summary>
    public bool HasRoom => _inFlight < _maxInFlight;

    /// <summary>Whether continuations run that may still send.</summary>
    public bool IsHeld => Volatile.Read(ref _holds) > 0;

    /// <summary>When a hold is over, its continuations ended or not; <see cref="Never"/> without one.</summary>
    public long HoldEnd => _holds > 0 ? _heldSince + _longestHold : Never;

    /// <summary>When the pace lets the open batches leave; <see cref="Never"/> where it has no say, or not
    /// now.</summary>
    public long PaceDue => _pace > 0 && _holds == 0 && HasRoom ? _lastSentAt + _pace : Never;

    private bool IsQuiet => _inFlight == 0 && _holds == 0;

    /// <summary>A batch is opened, or has to begin its wait again.</summary>
    /// <returns>Its turn: how many requests must be answered until it need not wait for quiet.</returns>
    public long NoteOpened() => _sentRequests + _maxInFlight;

    /// <summary>A request leaves.</summary>
    public void NoteSent(long now)
    {
        _inFlight++;
        _sentRequests++;
        _lastSentAt = now;
    }

    /// <summary>A request ended without an answer.</summary>
    public void NoteFailed() => _inFlight--;

    /// <summary>A request is answered.</summary>
    /// <param name="sentAt">When it left.</param>
    /// <param name="now">When the answer came.</param>
    public void NoteAnswered(long sentAt, long now)
    {
        _inFlight--;
        if (!_knowsTheWay)
            return;
        if (now - _tripsSince > Ticks(TripWindow))
        {
            _shortestTripBefore = _shortestTrip;
            _shortestTrip = Never;
            _tripsSince = now;
        }

        // The shortest tells the way: what a broker at work adds to it is a reason to gather more.
        _shortestTrip = Math.Min(_shortestTrip, now - sentAt);
        long way = Math.Min(_shortestTrip, _shortestTripBefore);
        _pace = way >= Ticks(LongWay) ? way / _maxInFlight : 0;
    }

    /// <summary>The continuations of a batch are about to run.</summary>
    /// <returns>What <see cref="EndHold"/> wants back.</returns>
    public int BeginHold(long now)
    {
        if (_holds++ == 0)
            _heldSince = now;
        return _holdNumber;
    }

    /// <summary>The continuations of a batch have run.</summary>
    /// <param name="number">As <see cref="BeginHold"/> gave it; of a hold that was ended before its time it says
    /// nothing.</param>
    /// <returns>Whether no other is left.</returns>
    public bool EndHold(int number) => number == _holdNumber && --_holds == 0;

    /// <summary>A sender is about to block: what it waits for must leave.</summary>
    public void EndHolds()
    {
        _holds = 0;
        _holdNumber++;
    }

    /// <summary>Ends holds that last too long.</summary>
    public void EndOverdueHolds(long now)
    {
        if (now >= HoldEnd)
            EndHolds();
    }

    /// <summary>Whether a batch may leave, but for its linger, without a look at the clock.</summary>
    /// <param name="turn">As <see cref="NoteOpened"/> gave it.</param>
    public bool IsItsTurn(long turn) => IsQuiet || _sentRequests - _inFlight >= turn;

    /// <summary>Whether an open batch may leave now.</summary>
    /// <inheritdoc cref="NextDue"/>
    public bool MayLeave(long turn, long openedAt, long now) => NextDue(turn, openedAt) <= now;

    /// <summary>When an open batch leaves if nothing happens until then; <see cref="Never"/> if time alone does not
    /// let it.</summary>
    /// <param name="turn">As <see cref="NoteOpened"/> gave it.</param>
    /// <param name="openedAt">When it took its first message.</param>
    public long NextDue(long turn, long openedAt) =>
        Math.Max(openedAt + _linger, IsItsTurn(turn) ? long.MinValue : PaceDue);

    /// <summary>Whether a oneway batch still waits for the connection to have nothing to send.</summary>
    public bool MayGatherOneway(long openedAt, long now) => now - openedAt < Ticks(LongestOnewayGathering);

    /// <summary>Whether an open oneway batch leaves before a full one, which was opened after it: one of its own queue
    /// is older.</summary>
    public bool LeavesBeforeFull(long openedAt, long fullOpenedAt, long now) =>
        openedAt < fullOpenedAt && now - openedAt >= Ticks(LongestBehindFull);

    private long Ticks(TimeSpan span) => (long)(span.TotalSeconds * _ticksPerSecond);
}
