using EQueue.Protocol;

namespace EQueue.Replication;

/// <summary>Follows the leader of the epoch in force: fetches, cuts what the leader does not have,
/// acknowledges.</summary>
internal sealed class Follower(ReplicaCore core, IReplicaActions actions)
{
    private const int RetryMs = 100;

    private Seat _leader;
    private long _session;
    private long _heardMs;
    private bool _hasHeard;
    private long _askedMs;
    private bool _isAsking;
    private bool _isAppending;
    private LogPosition _appendedFrom;
    private bool _isMatched;
    private LogPosition _told;

    /// <summary>Whether a leader is known to this life.</summary>
    public bool IsFollowing => _leader.Node is not null;

    /// <summary>Whether the leader of the epoch in force has answered lately.</summary>
    public bool HearsLeader(long nowMs) => _hasHeard && !IsSilent(nowMs);

    /// <summary>Whether the leader has been silent for so long that the others are asked: when they have answered, it
    /// is suspected.</summary>
    public bool IsSilent(long nowMs) => nowMs - _heardMs > core.Options.SuspectMs - core.Options.ReportMs;

    /// <summary>Begins to follow a leader.</summary>
    public void Follow(Seat leader, long nowMs)
    {
        _leader = leader;
        _heardMs = nowMs;
        _hasHeard = false;
        _isMatched = false;
        // What the one before sent is still being stored: until that has an end, this log has none to be compared.
        if (!_isAppending)
            Ask(nowMs, isNew: true);
    }

    /// <summary>Asks again when an answer did not come in time.</summary>
    public void Tick(long nowMs)
    {
        if (!IsFollowing || _isAppending)
            return;
        if (_isAsking ? nowMs - _askedMs >= core.Options.AnswerMs : nowMs - _askedMs >= RetryMs)
            Ask(nowMs, isNew: true);
    }

    /// <summary>The log can be looked at again.</summary>
    public void OnLogOpened(long nowMs)
    {
        _isAppending = false;
        if (IsFollowing)
            Ask(nowMs, isNew: true);
    }

    /// <summary>What was fetched was not taken: <see cref="Tick"/> begins anew.</summary>
    public void OnAppendRefused() => _isAppending = _isMatched = false;

    /// <summary>A node cannot be reached: when it is the leader, nothing will be heard of it.</summary>
    public void OnUnreachable(string node, long nowMs)
    {
        if (node == _leader.Node)
            _heardMs = Math.Min(_heardMs, nowMs - core.Options.SuspectMs - 1);
    }

    /// <summary>This process was not running: the leader was not silent for that.</summary>
    public void Forgive(long pauseMs, long nowMs)
    {
        _heardMs = Math.Min(nowMs, _heardMs + pauseMs);
        _askedMs = Math.Min(nowMs, _askedMs + pauseMs);
    }

    /// <summary>The leader, or who was, has answered a fetch.</summary>
    public void OnAnswer(string from, FetchAnswer answer, long nowMs)
    {
        if (from != _leader.Node || !_isAsking || answer.Session != _session)
            return;
        _isAsking = false;
        if (answer.Epoch != core.Record.Epoch || answer.Verdict == FetchVerdict.OtherEpoch)
        {
            core.Hear(answer.Epoch, nowMs);
            // The leader of this very epoch says that it is none: it has resigned, or began a new life.
            if (answer.Epoch == core.Record.Epoch)
                OnUnreachable(from, nowMs);
            return;
        }

        _heardMs = nowMs;
        _hasHeard = true;
        switch (answer.Verdict)
        {
            case FetchVerdict.Opening:
                Ask(nowMs, isNew: false);
                break;
            case FetchVerdict.Gone:
                core.Stop(
                    StopReason.Gone, $"the leader of epoch {answer.Epoch} has nothing any more at {core.Log.Tail.End}");
                break;
            case FetchVerdict.Diverging:
                CutBehind(answer, nowMs);
                break;
            case FetchVerdict.Mismatch:
                core.Stop(
                    StopReason.Mismatch, $"the leader of epoch {answer.Epoch} differs below {core.Log.Tail.End}");
                break;
            default:
                _isMatched = true;
                LogPosition end = core.Log.Tail.End;
                core.NoteCommitted(answer.Committed < end ? answer.Committed : end);
                if (answer.Entries is null)
                {
                    Ask(nowMs, isNew: false);
                    break;
                }

                _isAppending = true;
                _appendedFrom = end;
                actions.Append(answer.Entries);
                break;
        }
    }

    /// <summary>What was fetched is written, or more of the log is durable.</summary>
    public void OnLogMoved(long nowMs)
    {
        if (!core.IsLogOpen)
            return;
        if (_isAppending && core.Log.Tail.End > _appendedFrom)
        {
            _isAppending = false;
            Ask(nowMs, isNew: !_isMatched);
        }
        else if (_isMatched && core.Position > _told)
        {
            _told = core.Position;
            actions.Send(_leader.Node, new Ack(core.Me, _session, core.Record.Epoch, _told, core.Log.Durable));
        }
    }

    /// <summary>This life stops in order.</summary>
    public void Leave()
    {
        if (IsFollowing && _leader.Node != core.Me.Node)
            actions.Send(_leader.Node, new Farewell(core.Me));
    }

    private void Ask(long nowMs, bool isNew)
    {
        // This life was deposed, or is what remains of the leader: there is no other end to ask.
        // Nor is there one in an epoch that a person made, and that has no leader.
        if (!IsFollowing || _leader.Node == core.Me.Node || !core.IsLogOpen)
            return;
        if (isNew)
        {
            // Random, so that an answer to a life before is not taken for one of this life's.
            _session = core.Random.NewSession();
            _isMatched = false;
        }

        _isAsking = true;
        _askedMs = nowMs;
        _told = core.Position;
        IReplicaLog log = core.Log;
        actions.Send(
            _leader.Node,
            new Fetch(core.Me, _session, core.Record.Epoch, log.Tail, _told, log.Durable, log.IsFull));
    }

    /// <summary>Rule R5: cuts to where the two logs can still be equal, never below what is known to be
    /// committed.</summary>
    private void CutBehind(FetchAnswer answer, long nowMs)
    {
        LogTail tail = core.Log.Tail;
        (int epoch, LogPosition own) = core.Log.EndOfEpoch(answer.DivergingEpoch);
        // Where another epoch ends there no entry need end here: the end of the one before is compared next.
        bool isShared = epoch == answer.DivergingEpoch;
        LogPosition target = isShared && answer.DivergingEnd < own ? answer.DivergingEnd : own;
        if (target >= tail.End)
        {
            core.Stop(
                StopReason.Mismatch, $"the leader of epoch {answer.Epoch} names no place to cut to below {tail.End}");
            return;
        }

        if (target < core.Record.Committed)
        {
            core.Stop(
                StopReason.SetAside,
                $"the leader of epoch {answer.Epoch} asks for a cut to {target}; {core.Record.Committed} is committed");
            return;
        }

        actions.CutTo(target);
        Ask(nowMs, isNew: true);
    }
}
