using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>The bound of one topic's backlog: who enters, who waits and in which order.</summary>
/// <remarks>
/// docs/back-pressure.md has the rules.
/// Thread-safe. Room is taken before a batch goes to the store and given back when the store does not keep it. While
/// a batch waits or is being let in, later ones stand behind, and one thread at a time lets in: batches enter the
/// log in the order of the line.
/// </remarks>
internal sealed partial class TopicBacklog(BacklogTable table, string topic) : IThreadPoolWorkItem
{
    /// <summary>A cut leaves this share of the bound free, so that not every batch brings the next one.</summary>
    private const int CutShare = 16;

    private readonly Lock _gate = new();
    private readonly LinkedList<WaitingBatch> _line = new();
    private BacklogRules? _rules;
    private BacklogCount _count = new([], countsBytes: false);

    // While a topic is measured again: what was known before.
    private BacklogCount _older = new([], countsBytes: false);
    private ErrorCode _closed;
    private bool _isMeasuring;
    private bool _isLettingIn;
    private bool _isCutting;
    private long _dropped;
    private long _rejected;

    /// <summary>The topic's name.</summary>
    public string Topic { get; } = topic;

    /// <summary>Whether there is a bound now; without one everybody enters, behind those who waited.</summary>
    public bool IsBounded => Volatile.Read(ref _rules) is not null;

    public bool CountsBytes => Volatile.Read(ref _rules) is { MaxBytes: < long.MaxValue };

    public BacklogFigures Figures
    {
        get
        {
            lock (_gate)
            {
                return new BacklogFigures(
                    _count.Messages, _count.Bytes, _line.Count, _dropped, Volatile.Read(ref _rejected));
            }
        }
    }

    public QueueId[] Queues
    {
        get
        {
            lock (_gate)
                return [.. _count.Queues];
        }
    }

    /// <summary>Takes up new rules, null for none. Until <see cref="EndMeasuring"/> everybody waits.</summary>
    public void BeginMeasuring(BacklogRules? rules)
    {
        lock (_gate)
        {
            _isMeasuring = true;
            Volatile.Write(ref _rules, rules);
            _older = _count;
            _count = new BacklogCount(rules?.Groups ?? [], rules is { MaxBytes: < long.MaxValue });
            _count.TakeOver(_older);
        }
    }

    /// <summary>Up to where a queue is to be measured.</summary>
    /// <remarks>
    /// What is staged and not visible has its room still, unless it was settled; before the first bound no batch took
    /// any.
    /// </remarks>
    public long EndToMeasure(in QueueView view)
    {
        lock (_gate)
        {
            long stored = _older.StoredOf(view.Id);
            return stored < 0 ? view.StagedEnd.Value : Math.Max(view.End.Value, stored);
        }
    }

    /// <inheritdoc cref="BacklogCount.Measure"/>
    public void Measure(QueueId id, long start, long end, IEnumerable<(long End, long Bytes)> marks, int queueCount)
    {
        lock (_gate)
            _count.Measure(id, start, end, marks, queueCount);
    }

    public void EndMeasuring()
    {
        lock (_gate)
        {
            _isMeasuring = false;
            _older = _count;
            _count.MeasureRest();
            OnChanged();
        }
    }

    /// <summary>Asks for a batch to be let in; after <see cref="BacklogVerdict.Waits"/> give it to
    /// <see cref="Wait"/>.</summary>
    /// <param name="queue">A queue of the topic.</param>
    /// <param name="messages">In the batch.</param>
    /// <param name="bytes">That it takes in the log.</param>
    /// <param name="isBehindOwn">Whether one of its own request waits already.</param>
    /// <param name="ticket">To be given to <see cref="Settle"/> when it enters.</param>
    public BacklogVerdict Enter(QueueId queue, int messages, int bytes, bool isBehindOwn, out BacklogTicket ticket)
    {
        lock (_gate)
        {
            ticket = new BacklogTicket(queue, messages, bytes);
            if (isBehindOwn || _isMeasuring || _isLettingIn || _line.Count > 0)
                return BacklogVerdict.Waits;
            return Judge(ticket);
        }
    }

    /// <summary>Whether a batch would wait now.</summary>
    public bool MustWait(QueueId queue, int messages, int bytes)
    {
        lock (_gate)
        {
            return _isMeasuring || _isLettingIn || _line.Count > 0
                || Look(new BacklogTicket(queue, messages, bytes)) == BacklogVerdict.Waits;
        }
    }

    /// <summary>Counts a batch that is refused.</summary>
    /// <returns>What it is told.</returns>
    public ErrorCode Refuse(BacklogVerdict verdict)
    {
        if (verdict == BacklogVerdict.NeverFits)
            return ErrorCode.BatchExceedsBacklog;
        Interlocked.Increment(ref _rejected);
        table.CountRejected();
        return ErrorCode.QueueFull;
    }

    /// <summary>Puts a batch at the end of the line.</summary>
    public void Wait(WaitingBatch batch)
    {
        ErrorCode closed;
        bool isUnwritable;
        lock (_gate)
        {
            closed = _closed;
            isUnwritable = _unwritable.Contains(batch.Ticket.Queue);
            if (closed == ErrorCode.None && !isUnwritable)
            {
                batch.Node = _line.AddLast(batch);
                OnChanged();
            }
        }

        if (closed != ErrorCode.None)
            batch.Refuse(closed);
        else if (isUnwritable)
            Expel(batch);
    }

    /// <summary>Takes a batch out of the line for good.</summary>
    /// <returns>False if it does not stand there any more.</returns>
    public bool TryTake(WaitingBatch batch)
    {
        lock (_gate)
        {
            if (batch.Node is not { } node)
                return false;
            _line.Remove(node);
            batch.Node = null;

            // It may have been the one that was too large for the room that there is.
            OnChanged();
            return true;
        }
    }

    /// <summary>Says what became of a batch that was let in.</summary>
    /// <param name="ticket">From <see cref="Enter"/>.</param>
    /// <param name="end">The offset behind it; -1 = the store has not kept it.</param>
    public void Settle(in BacklogTicket ticket, long end)
    {
        lock (_gate)
        {
            _count.Settle(ticket.Queue, ticket.Messages, ticket.Bytes, end);
            OnChanged();
        }
    }

    /// <summary>A group's progress has its place in the log.</summary>
    /// <param name="name">As progress is kept: the group, or group/instance.</param>
    /// <param name="hasMembers">Whether the group has members, or had some.</param>
    /// <param name="queue">A queue of the topic.</param>
    /// <param name="next">The first message not processed; null = the progress is gone.</param>
    public void Commit(string name, bool hasMembers, QueueId queue, QueueOffset? next)
    {
        lock (_gate)
        {
            if (next is { } offset)
                _count.Commit(name, hasMembers, queue, offset.Value);
            else
                _count.Forget(name, queue);
            OnChanged();
        }
    }

    /// <summary>A group has its first member.</summary>
    public void NoteMembers(string group)
    {
        lock (_gate)
        {
            _count.NoteMembers(group);
            OnChanged();
        }
    }

    /// <summary>Takes over where a queue begins.</summary>
    public void MoveStart(QueueId queue, QueueOffset start)
    {
        lock (_gate)
        {
            _count.MoveStart(queue, start.Value);
            OnChanged();
        }
    }

    /// <summary>No batch is let in any more: the topic is gone, or the broker stops.</summary>
    public void Close(ErrorCode error)
    {
        WaitingBatch[] waiting;
        lock (_gate)
        {
            _closed = error;
            waiting = [.. _line];
            _line.Clear();
            foreach (WaitingBatch batch in waiting)
                batch.Node = null;
        }

        foreach (WaitingBatch batch in waiting)
            batch.Refuse(error);
    }

    /// <summary>Lets in who may enter, from the head of the line.</summary>
    void IThreadPoolWorkItem.Execute()
    {
        Task lettingIn = LetInAsync();
        System.Diagnostics.Debug.Assert(!lettingIn.IsFaulted, "A batch that is let in handles its own errors.");
    }

    private async Task LetInAsync()
    {
        while (TakeFirst(out BacklogVerdict verdict) is { } batch)
        {
            if (verdict == BacklogVerdict.Enters)
                await batch.AppendAsync();
            else
                batch.Refuse(Refuse(verdict));
        }
    }

    private WaitingBatch? TakeFirst(out BacklogVerdict verdict)
    {
        verdict = BacklogVerdict.Waits;
        lock (_gate)
        {
            if (!_isMeasuring && _line.First is { } first)
            {
                WaitingBatch batch = first.Value;
                verdict = Judge(batch.Ticket);
                if (verdict != BacklogVerdict.Waits)
                {
                    _line.RemoveFirst();
                    batch.Node = null;
                    return batch;
                }
            }

            _isLettingIn = false;
            return null;
        }
    }

    /// <summary>Whether a batch enters now; takes the room if so. Under the gate.</summary>
    private BacklogVerdict Judge(in BacklogTicket ticket)
    {
        BacklogVerdict verdict = Look(ticket);
        if (verdict == BacklogVerdict.Enters)
        {
            _count.Reserve(ticket.Queue, ticket.Messages, ticket.Bytes);
            CutIfOver();
        }

        return verdict;
    }

    private BacklogVerdict Look(in BacklogTicket ticket)
    {
        if (_rules is not { Policy: not BacklogPolicy.DropOldest } rules)
            return BacklogVerdict.Enters;
        if (ticket.Messages > rules.MaxMessages || ticket.Bytes > rules.MaxBytes)
            return BacklogVerdict.NeverFits;
        if (ticket.Messages <= rules.MaxMessages - _count.Messages && ticket.Bytes <= rules.MaxBytes - _count.Bytes)
            return BacklogVerdict.Enters;
        return rules.Policy == BacklogPolicy.Block ? BacklogVerdict.Waits : BacklogVerdict.Refused;
    }

    /// <summary>Batches that may enter by now are let in. Under the gate.</summary>
    private void OnChanged()
    {
        CutIfOver();
        if (_isMeasuring || _isLettingIn || _line.First is not { } first
            || Look(first.Value.Ticket) == BacklogVerdict.Waits)
        {
            return;
        }

        _isLettingIn = true;
        ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    private void CutIfOver()
    {
        if (_isCutting || _isMeasuring || !IsOver())
            return;
        _isCutting = true;
        _ = Task.Run(CutAsync);
    }

    private bool IsOver() => _rules is { Policy: BacklogPolicy.DropOldest } rules
        && (_count.Messages > rules.MaxMessages || _count.Bytes > rules.MaxBytes);

    /// <summary>Moves starts forward until the backlog is below the bound.</summary>
    private async Task CutAsync()
    {
        while (FindStarts() is { Count: > 0 } starts)
        {
            if (await table.MoveStartsAsync(Topic, starts) is not { } moved || !TakeStarts(moved))
                break;
        }

        lock (_gate)
            _isCutting = false;
    }

    private IReadOnlyList<(QueueId Queue, QueueOffset Start)> FindStarts()
    {
        lock (_gate)
        {
            return _rules is { } rules && IsOver()
                ? _count.Cut(
                    rules.MaxMessages - (rules.MaxMessages / CutShare), rules.MaxBytes - (rules.MaxBytes / CutShare))
                : [];
        }
    }

    /// <returns>Whether any has moved.</returns>
    private bool TakeStarts(IReadOnlyList<(QueueId Queue, QueueOffset Start)> starts)
    {
        lock (_gate)
        {
            long before = _count.Messages;
            long droppedBefore = _dropped;
            foreach ((QueueId queue, QueueOffset start) in starts)
                _dropped += _count.MoveStart(queue, start.Value);
            table.CountDropped(_dropped - droppedBefore);
            return _count.Messages < before;
        }
    }
}

/// <summary>What a topic with a bound tells of itself.</summary>
/// <param name="Messages">Of the slowest group that counts.</param>
/// <param name="Bytes">The same in bytes; 0 without a bound of bytes.</param>
/// <param name="Waiting">Batches in line.</param>
/// <param name="Dropped">Messages that went before the slowest group had them.</param>
/// <param name="Rejected">Batches that were refused.</param>
internal readonly record struct BacklogFigures(long Messages, long Bytes, int Waiting, long Dropped, long Rejected);

/// <summary>The room that a batch takes.</summary>
/// <param name="Queue">Its queue.</param>
/// <param name="Messages">In the batch.</param>
/// <param name="Bytes">That it takes in the log.</param>
internal readonly record struct BacklogTicket(QueueId Queue, int Messages, int Bytes);
