using EQueue.Protocol;

namespace EQueue.Replication;

/// <summary>Leads one epoch: answers fetches, counts what every seat has, changes the set.</summary>
internal sealed class Leader
{
    private readonly ReplicaCore _core;
    private readonly IReplicaActions _actions;
    private readonly Dictionary<string, ReplicaSession> _sessions = new(StringComparer.Ordinal);
    private readonly int _epoch;
    private readonly Seat _former;
    private readonly SeatLag _lag;
    private ShardState _state;
    private LogPosition? _startEnd;
    private LogPosition _committed;
    private LogPosition _durable;
    private long _beganMs;
    private bool _answers;
    private long? _fullSinceMs;

    /// <param name="core">The replica that leads.</param>
    /// <param name="actions">Takes what is to be done.</param>
    /// <param name="state">The epoch.</param>
    /// <param name="former">Who led before: it was suspected, and is silent until it comes by itself.</param>
    public Leader(ReplicaCore core, IReplicaActions actions, ShardState state, Seat former)
    {
        _core = core;
        _actions = actions;
        _state = state;
        _former = former;
        _lag = new SeatLag(core.Options);
        _epoch = state.Epoch;
        _committed = core.Record.Committed;
    }

    /// <summary>Whether the epoch's beginning is committed, so that messages are taken (rule R7).</summary>
    public bool IsOpen { get; private set; }

    /// <summary>Appends the epoch's beginning and tells the other nodes.</summary>
    public void Begin(long nowMs)
    {
        _beganMs = nowMs;
        _actions.StartEpoch(_epoch, _state.Nonce);
        foreach (string node in _core.Options.Nodes)
        {
            if (node != _core.Me.Node)
                _actions.Send(node, new EpochNotice(_epoch));
        }
    }

    /// <summary>The log is open, and the entry that begins the epoch is written.</summary>
    public void OnStarted(LogPosition end, long nowMs)
    {
        _startEnd = end;
        _actions.Publish(_committed, _durable, isOpen: false);
        OnLogMoved(nowMs);
    }

    /// <summary>The set as etcd has it, in this epoch.</summary>
    public void OnState(ShardState state, long nowMs)
    {
        // In an epoch only its leader changes the set: who is gone was let out here, also when the answer was lost.
        Seat[] letOut = [.. _state.Seats.Where(seat => state.SeatOf(seat.Node) is null)];
        _state = state;
        foreach (Seat seat in letOut)
            NoteLetOut(seat, nowMs);
        Advance(nowMs);
    }

    /// <summary>Entries were written, or more is durable.</summary>
    public void OnLogMoved(long nowMs)
    {
        // Rule R3: answers begin when the epoch's start is durable.
        _answers |= _core.Log.Durable >= _startEnd; // never while there is none
        if (!_answers)
            return;
        foreach (ReplicaSession session in _sessions.Values)
        {
            if (session.Waiting is { } fetch && (!session.IsMatched || fetch.Tail.End < _core.Log.Tail.End))
                Answer(session, fetch, nowMs);
        }

        Advance(nowMs);
    }

    /// <summary>A replica asks for what comes after its end.</summary>
    public void OnFetch(Fetch fetch, long nowMs)
    {
        if (fetch.Epoch != _epoch)
        {
            // Rule R4: another epoch is never a reason to cut.
            _core.Hear(fetch.Epoch, nowMs);
            Refuse(fetch, FetchVerdict.OtherEpoch);
            return;
        }

        string node = fetch.From.Node;
        if (!_sessions.TryGetValue(node, out ReplicaSession? session))
            _sessions[node] = session = new ReplicaSession(_core.Options);
        session.Begin(fetch);
        session.HeardMs = nowMs;
        session.IsFull = fetch.IsFull;
        session.Waiting = fetch;
        session.WaitsUntilMs = nowMs + _core.Options.FetchWaitMs;
        if (!_answers)
            return;
        if (!session.IsMatched || fetch.Tail.End < _core.Log.Tail.End)
            Answer(session, fetch, nowMs);
        Count(session, fetch.Position, fetch.Durable);
        Advance(nowMs);
    }

    /// <summary>A replica tells how far it is.</summary>
    public void OnAck(Ack ack, long nowMs)
    {
        if (ack.Epoch != _epoch || SessionOf(ack.From) is not { } session || session.Number != ack.Session)
            return;
        session.HeardMs = nowMs;
        Count(session, ack.Position, ack.Durable);
        Advance(nowMs);
    }

    /// <summary>A replica stops in order: the others need not wait until it is silent for long.</summary>
    public void OnFarewell(Farewell farewell) => SessionOf(farewell.From)?.Leave();

    /// <summary>Answers fetches that waited long enough; changes the set when a seat is silent or a replica is
    /// ready.</summary>
    public void Tick(long nowMs)
    {
        if (!_answers && nowMs - _beganMs > _core.Options.OpeningMs)
            return;
        foreach (ReplicaSession session in _sessions.Values)
        {
            if (session.Waiting is not { } fetch || nowMs < session.WaitsUntilMs)
                continue;
            if (_answers)
            {
                Answer(session, fetch, nowMs);
                continue;
            }

            session.Waiting = null;
            Refuse(fetch, FetchVerdict.Opening);
        }

        if (!_answers)
            return;
        foreach (ReplicaSession session in _sessions.Values)
        {
            if (_state.Has(session.Seat))
                session.Lag.Note(session.Counts ? session.Position : null, _core.Log.Tail.End, nowMs);
        }

        _lag.Note(_core.Position, _core.Log.Tail.End, nowMs);
        _fullSinceMs = _core.Log.IsFull ? _fullSinceMs ?? nowMs : null;
        bool isFull = nowMs - _fullSinceMs > _core.Options.FullMs; // never while it is not
        if (IsDispensable(isFull, nowMs))
            _core.Resign(isFull, nowMs);
        else
            ChangeSet(nowMs);
    }

    /// <summary>Another is to lead: those who wait for entries are told at once.</summary>
    public void TellEnd()
    {
        foreach (ReplicaSession session in _sessions.Values)
        {
            if (session.Waiting is { } fetch)
                Refuse(fetch, FetchVerdict.OtherEpoch);
        }
    }

    /// <summary>This process was not running: no follower was silent or behind for that.</summary>
    public void Forgive(long pauseMs, long nowMs)
    {
        _beganMs = Math.Min(nowMs, _beganMs + pauseMs);
        _lag.Forgive(pauseMs);
        _fullSinceMs += pauseMs;
        foreach (ReplicaSession session in _sessions.Values)
        {
            session.HeardMs = Math.Min(nowMs, session.HeardMs + pauseMs);
            session.Lag.Forgive(pauseMs);
        }
    }

    private void Answer(ReplicaSession session, Fetch fetch, long nowMs)
    {
        if (!session.IsMatched && !TryMatch(session, fetch))
            return;
        session.Waiting = null;
        LogPosition end = _core.Log.Tail.End;
        var answer = new FetchAnswer(fetch.Session, _epoch, FetchVerdict.Matched, _committed);
        if (fetch.Tail.End < end)
            _actions.SendEntries(fetch.From.Node, answer, fetch.Tail.End);
        else if (nowMs >= session.WaitsUntilMs)
            _actions.Send(fetch.From.Node, answer);
        else
            session.Waiting = fetch;
    }

    /// <summary>Rule R4: a session counts once its last entry is found here as it is there.</summary>
    private bool TryMatch(ReplicaSession session, Fetch fetch)
    {
        LogTail tail = fetch.Tail;
        // A log without an entry of its own is empty, or was copied by files: those are of what was committed.
        bool isCopied = tail.Epoch == 0 && tail.End <= _committed;
        bool? holds = isCopied ? true : _core.Log.Holds(tail);
        if (holds is null)
        {
            session.Waiting = null;
            Refuse(fetch, FetchVerdict.Gone);
            return false;
        }

        if (holds.Value)
        {
            session.IsMatched = true;
            Count(session, fetch.Position, fetch.Durable);
            return true;
        }

        session.Waiting = null;
        (int epoch, LogPosition end) = _core.Log.EndOfEpoch(tail.Epoch);
        if (tail.Epoch > _epoch || (epoch == _epoch && tail.Epoch == _epoch && tail.End > end))
        {
            // It has what this epoch's only leader never wrote: the connection ends, nothing is believed of it.
            _actions.Alarm($"{fetch.From.Node} has entries of epoch {tail.Epoch} up to {tail.End}, beyond {end}");
            _sessions.Remove(fetch.From.Node);
        }
        else if (epoch == tail.Epoch && tail.End <= end)
        {
            Refuse(fetch, FetchVerdict.Mismatch);
        }
        else
        {
            _actions.Send(fetch.From.Node, new FetchAnswer(
                fetch.Session, _epoch, FetchVerdict.Diverging, _committed, epoch, end));
        }

        return false;
    }

    private void Refuse(Fetch fetch, FetchVerdict verdict)
        => _actions.Send(fetch.From.Node, new FetchAnswer(fetch.Session, _epoch, verdict, _committed));

    /// <summary>Rules R6 and R12: a position counts in a matched session, when it is not below an earlier
    /// one.</summary>
    private void Count(ReplicaSession session, LogPosition position, LogPosition durable)
    {
        if (!session.IsMatched)
            return;
        if (position > _core.Log.Tail.End)
        {
            _actions.Alarm($"{session.Seat.Node} answers {position}, beyond the end {_core.Log.Tail.End}");
            _sessions.Remove(session.Seat.Node);
            return;
        }

        if (session.TryCount(position, durable) || !_state.Has(session.Seat))
            return;
        if (session.TryTell())
            _actions.Alarm($"{session.Seat.Node} has fallen back to {position} within epoch {_epoch}");
    }

    /// <summary>Rule R6: committed is what every seat has, those of an undecided transaction included.</summary>
    private void Advance(long nowMs)
    {
        if (!_answers)
            return;
        LogPosition least = _core.Position;
        LogPosition durable = _core.Log.Durable;
        if (!TryLower(_state.Seats, ref least, ref durable))
            return;
        if (_core.Transactor.Pending is { Kind: TransactionKind.SetChange } change
            && !TryLower(change.Next.Seats, ref least, ref durable))
        {
            return;
        }

        bool hasMoved = least > _committed || durable > _durable;
        if (least > _committed)
            _core.NoteCommitted(_committed = least);
        if (durable > _durable)
            _durable = durable < _committed ? durable : _committed;
        if (!IsOpen && _committed >= _startEnd)
        {
            IsOpen = true;
            _core.NoteOpened();
            _actions.Publish(_committed, _durable, isOpen: true);
            ChangeSet(nowMs);
        }
        else if (hasMoved)
        {
            _actions.Publish(_committed, _durable, IsOpen);
        }
    }

    private bool TryLower(IReadOnlyList<Seat> seats, ref LogPosition least, ref LogPosition durable)
    {
        foreach (Seat seat in seats)
        {
            if (seat == _core.Me)
                continue;
            if (SessionOf(seat) is not { Counts: true } session)
                return false;
            if (session.Position < least)
                least = session.Position;
            if (session.Durable < durable)
                durable = session.Durable;
        }

        return true;
    }

    /// <summary>Rule R8: one change at a time; in when it has all that may be committed, out when it is silent or holds
    /// the others up.</summary>
    private void ChangeSet(long nowMs)
    {
        if (_core.Transactor.Pending is not null || _core.View?.State is not { } known || known.Epoch != _epoch)
            return;
        if ((WithReady(nowMs) ?? WithoutSlow(nowMs)) is not { } seats)
            return;
        var change = new Transaction(
            TransactionKind.SetChange, _core.View.Revision, known, _core.Me, _core.Acted, known.With(seats));
        _core.Transactor.Begin(change, nowMs);
    }

    private List<Seat>? WithReady(long nowMs)
    {
        LogPosition needed = _committed > _startEnd ? _committed : _startEnd!.Value;
        foreach (ReplicaSession session in _sessions.Values)
        {
            if (_state.Has(session.Seat) || IsSilent(session.Seat, nowMs))
                continue;
            if (!session.Counts || session.Position < needed)
                continue;
            Seat? former = _state.SeatOf(session.Seat.Node);
            if (former is null && _state.Seats.Count >= _core.Options.SeatCount)
                continue;
            // One that was let out comes back at once when the others do not go on without it.
            if (!session.Lag.MayReturn(nowMs) && !IsHeldUp(nowMs))
                continue;
            return [.. _state.Seats.Where(seat => seat != former), session.Seat];
        }

        return null;
    }

    /// <summary>The set without those that are silent and then without those that are behind too often, the furthest
    /// first, as far as the least number allows.</summary>
    private List<Seat>? WithoutSlow(long nowMs)
    {
        int most = _state.Seats.Count - _state.Min;
        Seat[] slow = [.. _state.Seats
            .Where(seat => seat != _core.Me && (IsSilent(seat, nowMs) || SessionOf(seat)?.Lag.HoldsUp(_lag) == true))
            .OrderBy(seat => !IsSilent(seat, nowMs))
            .ThenBy(seat => SessionOf(seat)?.Position.Value)
            .Take(Math.Max(0, most))];
        return slow.Length == 0 ? null : [.. _state.Seats.Except(slow)];
    }

    private void NoteLetOut(Seat seat, long nowMs)
    {
        // A process that is gone comes back as another one, and owes nothing.
        if (SessionOf(seat) is not { HasLeft: false } session || IsReplaced(seat))
            return;
        _actions.LetOut(seat.Node, IsSilent(seat, nowMs), session.Lag.LetOut(nowMs));
    }

    /// <summary>Whether the set does not go on without help: a seat holds it up, or this log.</summary>
    private bool IsHeldUp(long nowMs) => _lag.HoldsUp(null) || _state.Seats.Any(seat => HoldsUp(seat, nowMs));

    /// <summary>Whether the others are enough and keep up, while this log does not or has no room and theirs
    /// has.</summary>
    private bool IsDispensable(bool isFull, long nowMs)
    {
        if (!(isFull || _lag.HoldsUp(null)) || _core.Transactor.Pending is not null)
            return false;
        Seat[] others = [.. _state.Seats.Where(seat => seat != _core.Me)];
        if (others.Length < _state.Min || others.Any(seat => HoldsUp(seat, nowMs)))
            return false;
        return (isFull && others.Any(seat => SessionOf(seat) is { IsFull: false }))
            || others.All(seat => _lag.HoldsUp(SessionOf(seat)?.Lag));
    }

    private bool HoldsUp(Seat seat, long nowMs)
        => seat != _core.Me && (IsSilent(seat, nowMs) || SessionOf(seat) is { Lag.IsBehind: true });

    private ReplicaSession? SessionOf(Seat seat)
        => _sessions.TryGetValue(seat.Node, out ReplicaSession? session) && session.Seat == seat ? session : null;

    private bool IsReplaced(Seat seat)
        => _core.View!.Lives.TryGetValue(seat.Node, out Life life) && life != seat.Life;

    private bool IsSilent(Seat seat, long nowMs)
        => IsReplaced(seat) || (SessionOf(seat) is { } session
            ? session.HasLeft || nowMs - session.HeardMs > _core.Options.SeatSilenceMs
            : seat == _former || nowMs - _beganMs > _core.Options.SeatSilenceMs);
}
