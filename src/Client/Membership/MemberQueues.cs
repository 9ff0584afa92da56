using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>What a member and one broker have told each other: the generation, and the queues that the broker has given
/// to the member.</summary>
/// <remarks>Owns the list under a gate of its own. The session's loops call it; it drops and takes away queues of the
/// stream, outside the gate.</remarks>
internal sealed class MemberQueues(MemberTerms terms, MessageStream stream, FetchSession fetch)
{
    private readonly Lock _gate = new();
    private readonly Dictionary<QueueKey, MemberQueue> _queues = [];
    private readonly List<QueueCursor> _lost = [];
    private GroupGeneration _seen = GroupGeneration.Join;
    private long _toldOn = -1;
    private int _listVersion;
    private int _toldVersion;
    private uint _pending;
    private bool _isClosed;
    private bool _isOver;

    /// <summary>There is something to say to the broker.</summary>
    public WakeSignal News { get; } = new();

    /// <summary>Queues may have been given that are to be started.</summary>
    public WakeSignal Given { get; } = new();

    /// <summary>Queues may have been taken that are to be released.</summary>
    public WakeSignal Taken { get; } = new();

    /// <summary>Whether the broker knows the member.</summary>
    public bool IsMember
    {
        get
        {
            lock (_gate)
                return _seen != GroupGeneration.Join;
        }
    }

    /// <summary>Whether it has every queue that it shall have.</summary>
    public bool IsSettled
    {
        get
        {
            lock (_gate)
            {
                return _seen != GroupGeneration.Join && _pending == 0
                    && !_queues.Values.Any(static queue => queue.Place == MemberQueue.Stage.Starting);
            }
        }
    }

    /// <summary>The generation that the broker told last, and how many queues it has given.</summary>
    public (GroupGeneration Seen, int Count) Standing
    {
        get
        {
            lock (_gate)
                return (_seen, _queues.Count);
        }
    }

    /// <summary>The queues that are read, and those that the application has yet to leave.</summary>
    public IReadOnlyList<QueueCursor> Cursors()
    {
        lock (_gate)
            return [.. _queues.Values.Select(static queue => queue.Cursor).OfType<QueueCursor>()];
    }

    /// <summary>Begins no queue any more: the member leaves.</summary>
    /// <returns>The queues that were begun.</returns>
    public IReadOnlyList<QueueCursor> Close()
    {
        lock (_gate)
            _isClosed = true;
        return Cursors();
    }

    /// <summary>Whether the application still stands at a message of a queue that was lost.</summary>
    public bool IsLostInHand()
    {
        lock (_gate)
        {
            if (_lost.Exists(stream.Reader.InHand.Is))
                return true;
            _lost.Clear();
            return false;
        }
    }

    /// <summary>What to say to the broker now.</summary>
    /// <param name="connection">The connection on which it is said: over a new one everything is.</param>
    /// <param name="isUrgent">Whether the broker is not to wait with its answer.</param>
    /// <param name="maxWait">How long it may.</param>
    public Beat Prepare(long connection, bool isUrgent, TimeSpan maxWait)
    {
        lock (_gate)
        {
            bool isWhole = _seen == GroupGeneration.Join || connection != _toldOn;
            bool isListed = isWhole || _listVersion != _toldVersion;
            ConsumerOptions options = terms.Options;
            var request = new GroupHeartbeatRequest
            {
                Group = terms.Group,
                Member = terms.Member,
                Sequence = terms.NextSequence(),
                Generation = _seen,
                InstanceId = options.InstanceId,
                SessionTimeout = options.SessionTimeout,
                ReleaseTimeout = options.ReleaseTimeout,
                MaxWait = isWhole || isUrgent ? TimeSpan.Zero : maxWait,
                IsBroadcast = options.IsBroadcast,
                Subscriptions = isWhole
                    ? [.. terms.Topics.Select(topic => new TopicSubscription(topic, options.Tags))]
                    : null,
                Owned = isListed ? OwnedQueues() : null,
            };
            MemberQueue[] released =
                [.. _queues.Values.Where(static queue => queue.Place == MemberQueue.Stage.Released)];
            return new Beat(request, connection, isListed ? _listVersion : _toldVersion, released);
        }
    }

    /// <summary>The broker may not know what it was told: the next call says everything.</summary>
    public void TellAllAgain()
    {
        lock (_gate)
            _toldOn = -1;
    }

    /// <summary>The answer to a call holds from here on.</summary>
    public void Apply(Beat beat, GroupHeartbeatResponse answer)
    {
        List<QueueCursor> revoked = [];
        List<QueueCursor> dropped = [];
        lock (_gate)
        {
            if (_isOver)
                return;

            // Another epoch: the broker was restarted, and what it lists of the queues named to it are claims that
            // hold.
            bool isRestart = _seen != GroupGeneration.Join && answer.Generation.Epoch != _seen.Epoch;
            _seen = answer.Generation;
            _pending = answer.Pending;
            _toldVersion = beat.ListVersion;
            if (beat.Request.Subscriptions is not null)
                _toldOn = beat.Connection;
            foreach (MemberQueue queue in beat.Released)
            {
                if (IsCurrent(queue))
                    _queues.Remove(queue.Key);
            }

            if (answer.Assignment is { } assignment)
            {
                HashSet<QueueKey> told = Take(assignment, isRestart || terms.Options.IsBroadcast, dropped);
                GiveUp(told, isRestart, revoked, dropped);
            }
        }

        foreach (QueueCursor cursor in revoked)
            stream.Revoke(cursor);
        foreach (QueueCursor cursor in dropped)
            Drop(cursor);
        Given.Set();
        Taken.Set();
    }

    /// <summary>The queues that are to be started.</summary>
    public MemberQueue[] TakeStarting()
    {
        lock (_gate)
        {
            return _isClosed
                ? [] : [.. _queues.Values.Where(static queue => queue.Place == MemberQueue.Stage.Starting)];
        }
    }

    /// <summary>A queue's place is known, from which it is read.</summary>
    /// <returns>False if it is not to be started any more.</returns>
    public bool TryBegin(MemberQueue queue, QueueCursor cursor)
    {
        lock (_gate)
        {
            if (_isClosed || !IsCurrent(queue) || queue.Place != MemberQueue.Stage.Starting)
                return false;
            queue.Begin(cursor);
            stream.Announce(fetch, cursor);
            return true;
        }
    }

    /// <summary>The queues that were taken away and that the application has left: they are to be released.</summary>
    public MemberQueue[] TakeRevoked()
    {
        lock (_gate)
        {
            // Marked first, then looked whether it is in hand: a queue whose mark is yet to come has its turn after it.
            MemberQueue[] queues = [.. _queues.Values.Where(queue =>
                queue is { Place: MemberQueue.Stage.Revoked, Cursor: { IsRemoved: true } cursor }
                && !stream.Reader.InHand.Is(cursor))];
            foreach (MemberQueue queue in queues)
                queue.Place = MemberQueue.Stage.Releasing;
            return queues;
        }
    }

    /// <summary>The last commit of queues is made: the next call gives them up.</summary>
    public void Release(MemberQueue[] queues)
    {
        lock (_gate)
        {
            foreach (MemberQueue queue in queues.Where(IsCurrent))
                SetReleased(queue);
        }
    }

    /// <summary>Whether a queue is still this member's to commit.</summary>
    public bool IsHeld(QueueCursor cursor)
    {
        lock (_gate)
            return Find(cursor) is not null;
    }

    /// <summary>The broker has the queue no longer: it is read no further, and waits to leave the list.</summary>
    public void OnGone(QueueCursor cursor)
    {
        lock (_gate)
        {
            if (Find(cursor) is { } queue)
                queue.IsGone = true;
        }

        Drop(cursor);
    }

    /// <summary>Lost to another member, as a commit found out: dropped, and the next answer says what holds.</summary>
    public void OnLost(QueueCursor cursor)
    {
        lock (_gate)
        {
            if (Find(cursor) is not null)
            {
                _queues.Remove(cursor.Key);
                _listVersion++;
            }
        }

        Drop(cursor);
        News.Set();
    }

    /// <summary>The membership is over: nothing is committed any more, and the next call joins.</summary>
    /// <param name="isFinal">Whether none follows; a broadcast member that joins again keeps its queues.</param>
    /// <param name="isFailure">Whether answers do not count any more.</param>
    public void DropAll(bool isFinal, bool isFailure = false)
    {
        List<QueueCursor> dropped = [];
        lock (_gate)
        {
            _isOver |= isFailure;
            _seen = GroupGeneration.Join;
            _pending = 0;
            if (!terms.Options.IsBroadcast || isFinal)
            {
                dropped.AddRange(_queues.Values.Select(static queue => queue.Cursor).OfType<QueueCursor>());
                _queues.Clear();
                _lost.AddRange(dropped);
            }
        }

        foreach (QueueCursor cursor in dropped)
            Drop(cursor);
    }

    private OwnedQueue[] OwnedQueues() =>
        [.. _queues.Values.Where(static queue => queue.Place != MemberQueue.Stage.Released)
            .Select(static queue => new OwnedQueue(queue.Key, queue.Grant))];

    /// <summary>Takes up what is new. Under the gate.</summary>
    /// <returns>Every queue that was told.</returns>
    private HashSet<QueueKey> Take(
        IReadOnlyList<AssignedTopic> assignment, bool isRenewal, List<QueueCursor> dropped)
    {
        HashSet<QueueKey> told = [];
        foreach (AssignedTopic topic in assignment)
        {
            foreach (AssignedQueue queue in topic.Queues)
            {
                told.Add(queue.Queue);
                if (_queues.TryGetValue(queue.Queue, out MemberQueue? known))
                {
                    // One that is being released is not taken up again: the release completes, a new grant follows.
                    if (known.Grant == queue.Grant)
                        continue;
                    if (isRenewal)
                    {
                        known.Renew(queue.Grant);
                        _listVersion++;
                        continue;
                    }

                    if (known.Cursor is { } lost)
                        dropped.Add(lost);
                }

                int number = stream.NumberOf(fetch, queue.Number);
                _queues[queue.Queue] = new MemberQueue(topic.Topic, queue with { Number = number });
                _listVersion++;
            }
        }

        return told;
    }

    /// <summary>Begins to release what is missing. Under the gate.</summary>
    private void GiveUp(
        HashSet<QueueKey> told, bool isRestart, List<QueueCursor> revoked, List<QueueCursor> dropped)
    {
        foreach (MemberQueue queue in _queues.Values.Where(queue => !told.Contains(queue.Key)).ToArray())
        {
            if (isRestart)
            {
                // A claim that does not hold: the queue may be another member's already.
                _queues.Remove(queue.Key);
                _listVersion++;
                if (queue.Cursor is { } lost)
                    dropped.Add(lost);
            }
            else if (queue.Place == MemberQueue.Stage.Starting || queue.IsGone)
            {
                SetReleased(queue);
            }
            else if (queue.Place == MemberQueue.Stage.Reading)
            {
                queue.Place = MemberQueue.Stage.Revoked;
                revoked.Add(queue.Cursor!);
            }
        }
    }

    private void SetReleased(MemberQueue queue)
    {
        queue.Place = MemberQueue.Stage.Released;
        _listVersion++;
        News.Set();
    }

    private bool IsCurrent(MemberQueue queue) =>
        _queues.TryGetValue(queue.Key, out MemberQueue? known) && known == queue;

    private MemberQueue? Find(QueueCursor cursor) =>
        _queues.TryGetValue(cursor.Key, out MemberQueue? queue) && queue.Cursor == cursor ? queue : null;

    private void Drop(QueueCursor cursor)
    {
        cursor.IsGivenUp = true;
        stream.Remove(cursor);
    }
}

/// <summary>One call of a member and what it said.</summary>
/// <param name="Request">The call.</param>
/// <param name="Connection">The connection that it was made for.</param>
/// <param name="ListVersion">The version of the list of queues that the broker knows with it.</param>
/// <param name="Released">Queues that it gives up.</param>
internal sealed record Beat(
    GroupHeartbeatRequest Request, long Connection, int ListVersion, IReadOnlyList<MemberQueue> Released);
