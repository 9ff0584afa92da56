namespace EQueue.Replication;

/// <summary>How a replica that does not lead comes to: takes over its seat, claims, or is elected for
/// recovery.</summary>
internal sealed class Candidacy(ReplicaCore core, Follower follower, IReplicaActions actions)
{
    private readonly Dictionary<string, StateReport> _reports = new(StringComparer.Ordinal);
    private Step _step;
    private long _round;
    private long _untilMs;
    private long _notBeforeMs;
    private int _unopened;

    private enum Step
    {
        Idle,
        Asking,
        Waiting,
    }

    /// <summary>A claim was refused: another replica's change came first.</summary>
    public void Lost() => _step = Step.Idle;

    /// <summary>Another one is to claim first.</summary>
    public void Hold(long untilMs) => _notBeforeMs = Math.Max(_notBeforeMs, untilMs);

    /// <summary>A node has reported.</summary>
    public void OnReport(StateReport report)
    {
        if (report.Round == _round)
            _reports[report.From.Node] = report;
    }

    /// <summary>Looks whether there is something to be done.</summary>
    public void Tick(long nowMs)
    {
        if (core.Transactor.Pending is not null || core.View is not { State: { } state } view)
            return;
        if (!view.Lives.TryGetValue(core.Me.Node, out Life life) || life != core.Me.Life)
            return;
        bool isSeat = state.Has(core.Me);
        if (!isSeat && core.IsProven && Former(state) is { } former)
        {
            TakeOver(view, state, former, nowMs);
            return;
        }

        if (isSeat ? !IsSuspect(view, state, nowMs) : Former(state) is null)
        {
            _step = Step.Idle;
            return;
        }

        Advance(view, state, isSeat, nowMs);
    }

    private void Advance(ShardView view, ShardState state, bool isSeat, long nowMs)
    {
        switch (_step)
        {
            case Step.Idle when nowMs >= _notBeforeMs:
                Ask(nowMs);
                break;
            case Step.Asking when nowMs >= _untilMs:
                if (isSeat ? MustGiveWay(nowMs) : !WinsElection(state))
                {
                    _step = Step.Idle;
                    _notBeforeMs = nowMs + core.Options.ReportMs;
                    break;
                }

                _step = Step.Waiting;
                _untilMs = nowMs + core.Random.Below(core.Options.ClaimDelayMs)
                    + (core.Log.IsFull ? core.Options.FullDelayMs : 0);
                break;
            case Step.Waiting when nowMs >= _untilMs:
                _step = Step.Idle;
                Claim(view, state, isSeat, nowMs);
                break;
        }
    }

    private void Ask(long nowMs)
    {
        _step = Step.Asking;
        _round++;
        _untilMs = nowMs + core.Options.ReportMs;
        _reports.Clear();
        foreach (string node in core.Options.Nodes)
        {
            if (node != core.Me.Node)
                actions.Send(node, new StateQuestion(core.Me, _round));
        }
    }

    /// <summary>Whether the leader is gone, or silent for too long.</summary>
    private bool IsSuspect(ShardView view, ShardState state, long nowMs)
    {
        Seat leader = state.Leader;
        if (leader.Node is null || leader.Node == core.Me.Node)
            return true;
        if (view.Lives.TryGetValue(leader.Node, out Life life) && life != leader.Life)
            return true;
        return follower.IsSilent(nowMs);
    }

    /// <summary>Whether a report speaks against a claim: the leader is heard, or more is committed than this log
    /// has.</summary>
    private bool MustGiveWay(long nowMs)
    {
        foreach (StateReport report in _reports.Values)
        {
            if (report.HearsLeader && report.Epoch >= core.Record.Epoch)
                return true;
            if (report.Committed <= core.Log.Tail.End)
                continue;
            // What this replica knows of its seat is out of date, or etcd was restored.
            core.ReadEtcd(nowMs);
            _notBeforeMs = nowMs + core.Options.ClaimBackOffMs.First;
            return true;
        }

        return false;
    }

    /// <summary>The seat that a former life of this directory holds.</summary>
    private Seat? Former(ShardState state)
        => state.SeatOf(core.Me.Node) is { } seat && core.Record.Former.Contains(seat.Life) ? seat : null;

    /// <summary>Rule R10: every last seat is dead and has reported from its directory, and none has more than this
    /// one.</summary>
    private bool WinsElection(ShardState state)
    {
        foreach (Seat seat in state.Seats)
        {
            if (seat.Node == core.Me.Node)
                continue;
            if (!_reports.TryGetValue(seat.Node, out StateReport? report))
                return false;
            if (report.From.Life == seat.Life || !report.Former.Contains(seat.Life))
                return false;
            int order = Compare(report.Tail, core.Log.Tail);
            if (order > 0 || (order == 0 && string.CompareOrdinal(seat.Node, core.Me.Node) < 0))
                return false;
        }

        return true;
    }

    private static int Compare(in LogTail left, in LogTail right)
        => left.Epoch != right.Epoch ? left.Epoch.CompareTo(right.Epoch) : left.End.CompareTo(right.End);

    /// <summary>Rule R9: the seat passes to the next life of its directory.</summary>
    private void TakeOver(ShardView view, ShardState state, Seat former, long nowMs)
    {
        Seat[] seats = [.. state.Seats.Select(seat => seat == former ? core.Me : seat)];
        core.Transactor.Begin(
            new Transaction(
                TransactionKind.TakeOver, view.Revision, state, core.Me, core.Acted, state with { Seats = seats }),
            nowMs);
    }

    /// <summary>Rule R2: a new epoch, above all that was heard of, with this life as its leader.</summary>
    private void Claim(ShardView view, ShardState state, bool isSeat, long nowMs)
    {
        int epoch = Math.Max(state.Epoch, core.HighestEpoch) + 1;
        foreach (StateReport report in _reports.Values)
            epoch = Math.Max(epoch, report.Tail.Epoch + 1);
        Seat[] seats = [core.Me];
        int min = 1;
        if (isSeat)
        {
            Seat[] others = [.. state.Seats.Where(seat => seat != state.Leader || seat == core.Me)];
            seats = others.Length >= state.Min ? others : [.. state.Seats];
            min = state.Min;
        }

        (int first, int longest) = core.Options.ClaimBackOffMs;
        _notBeforeMs = nowMs + Math.Min(longest, first << Math.Min(_unopened, 10));
        _unopened++;
        core.Transactor.Begin(
            new Transaction(
                isSeat ? TransactionKind.Claim : TransactionKind.Election,
                view.Revision,
                state,
                core.Me,
                core.Acted,
                new ShardState(epoch, core.Me, seats, min, core.Random.NewNonce())),
            nowMs);
    }

    /// <summary>A claim has opened: the next one need not wait.</summary>
    public void Opened() => _unopened = 0;
}
