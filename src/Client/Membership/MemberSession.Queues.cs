using EQueue.Protocol;

namespace EQueue.Client;

/// <content>From a list that the broker told to queues that are read, and back.</content>
internal sealed partial class MemberSession
{
    private readonly Dictionary<QueueKey, MemberQueue> _queues = [];
    private readonly WakeSignal _releases = new();

    /// <summary>The queues that are read, and those that the application has yet to let go.</summary>
    public IReadOnlyList<QueueCursor> Cursors()
    {
        lock (_gate)
            return [.. _queues.Values.Select(static queue => queue.Cursor).OfType<QueueCursor>()];
    }

    /// <summary>The broker has the queue no longer: it is read no further, and waits to leave the list.</summary>
    public void OnGone(QueueCursor cursor)
    {
        lock (_gate)
        {
            if (_queues.TryGetValue(cursor.Key, out MemberQueue? queue) && queue.Cursor == cursor)
                queue.IsGone = true;
        }

        Drop(cursor);
    }

    private bool IsAnyStarting() => _queues.Values.Any(static queue => queue.Place == MemberQueue.Stage.Starting);

    private OwnedQueue[] OwnedQueues() =>
        [.. _queues.Values.Where(static queue => queue.Place != MemberQueue.Stage.Released)
            .Select(static queue => new OwnedQueue(queue.Key, queue.Grant))];

    private MemberQueue[] ReleasedQueues() =>
        [.. _queues.Values.Where(static queue => queue.Place == MemberQueue.Stage.Released)];

    /// <summary>The answer to a call holds from here on.</summary>
    private void Apply(Beat beat, GroupHeartbeatResponse answer)
    {
        List<QueueCursor> revoked = [];
        List<QueueCursor> dropped = [];
        lock (_gate)
        {
            if (_failure is not null)
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
                HashSet<QueueKey> told = Take(assignment, isRestart || _terms.Options.IsBroadcast, dropped);
                GiveUp(told, isRestart, revoked, dropped);
            }
        }

        foreach (QueueCursor cursor in revoked)
            _stream.Revoke(cursor);
        foreach (QueueCursor cursor in dropped)
            Drop(cursor);
        _starts.Set();
        _releases.Set();
    }

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

                int number = _stream.NumberOf(_fetch, queue.Number);
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
        foreach (MemberQueue? queue in _queues.Values.Where(queue => !told.Contains(queue.Key)).ToArray())
        {
            if (isRestart)
            {
                // A claim that does not hold: the queue may be somebody else's already.
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
        _news.Set();
    }

    private bool IsCurrent(MemberQueue queue) =>
        _queues.TryGetValue(queue.Key, out MemberQueue? known) && known == queue;

    /// <summary>The session is over: nothing is committed any more, and the next call joins.</summary>
    private void DropAll()
    {
        TaskCompletionSource? urgent;
        List<QueueCursor> dropped = [];
        lock (_gate)
        {
            _seen = GroupGeneration.Join;
            _pending = 0;
            urgent = _urgent;
            _urgent = null;
            if (!_terms.Options.IsBroadcast || _failure is not null || _isLeaving)
            {
                foreach (MemberQueue queue in _queues.Values)
                {
                    if (queue.Cursor is { } cursor)
                        dropped.Add(cursor);
                }

                _queues.Clear();
                _lost.AddRange(dropped);
            }
        }

        foreach (QueueCursor cursor in dropped)
            Drop(cursor);
        urgent?.TrySetResult();
    }

    private void Drop(QueueCursor cursor)
    {
        cursor.IsGivenUp = true;
        _stream.Remove(cursor);
    }

    /// <summary>Lost to another member, as a commit found out: dropped, and the next answer says what holds.</summary>
    private void OnLost(QueueCursor cursor)
    {
        lock (_gate)
        {
            if (_queues.TryGetValue(cursor.Key, out MemberQueue? queue) && queue.Cursor == cursor)
            {
                _queues.Remove(cursor.Key);
                _listVersion++;
            }
        }

        Drop(cursor);
        _news.Set();
    }
}
