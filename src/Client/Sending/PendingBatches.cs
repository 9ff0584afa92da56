using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>The batches of a queue that are closed and not settled, in order, and their places in the producer's
/// session.</summary>
/// <remarks>Belongs to the gate of the queue's lane. For <c>foreach</c> as <see cref="BatchList"/> is.</remarks>
/// <param name="nextSequence">The sequence of the first message.</param>
internal sealed class PendingBatches(int nextSequence = 0)
{
    private readonly BatchList _batches = new();
    private long _nextOrdinal;
    private int _nextSequence = nextSequence;
    private bool _hasGap;
    private long _gapOrdinal;
    private int _gapSequence;
    private long _untoldOrdinal = long.MaxValue;

    /// <summary>The oldest.</summary>
    public SendBatch? First => _batches.First;

    /// <summary>Whether one of them must leave before the open batch can, and has yet to.</summary>
    public bool HasUnsent => _batches.Last is { State: BatchState.Waiting };

    /// <summary>None leaves before this time, in the time provider's units; 0 = at once.</summary>
    public long RetryAt { get; set; }

    /// <summary>Bytes of the batches in flight.</summary>
    public long SentBytes
    {
        get
        {
            long bytes = 0;
            foreach (SendBatch batch in _batches)
                bytes += batch.State == BatchState.Sent ? batch.Size : 0;
            return bytes;
        }
    }

    public BatchList.Enumerator GetEnumerator() => _batches.GetEnumerator();

    /// <summary>Puts a closed batch behind the others.</summary>
    public void Add(SendBatch batch)
    {
        batch.State = BatchState.Waiting;
        _batches.Add(batch);
    }

    /// <summary>Takes out a batch that is settled, or goes elsewhere.</summary>
    public void Remove(SendBatch batch) => _batches.Remove(batch);

    /// <summary>Adds a task for each batch, which completes when that is settled.</summary>
    public void Gather(List<Task> pending) => _batches.Gather(pending);

    /// <summary>The batch to send next: the oldest that is not in flight, if it may leave now.</summary>
    /// <param name="now">In the time provider's units.</param>
    /// <param name="window">How many batches back the broker recognises one that it has stored.</param>
    /// <param name="onlyUnknown">Whether only batches may leave whose fate is to be found out.</param>
    public SendBatch? FindNext(long now, int window, bool onlyUnknown)
    {
        if (RetryAt > now)
            return null;
        foreach (SendBatch batch in _batches)
        {
            if (batch.State == BatchState.Unknown)
                return batch;
            if (batch.State == BatchState.Waiting && !onlyUnknown)
                return _hasGap ? null : batch.Sequence >= 0 || IsWithin(window) ? batch : null;
        }

        return null;
    }

    /// <summary>A batch leaves; at its first sending it gets its place in the session.</summary>
    public void MarkSent(SendBatch batch, ProducerSession session)
    {
        batch.WasHead = First == batch;
        batch.State = BatchState.Sent;
        batch.Attempts++;
        if (batch.Sequence >= 0)
            return;
        batch.Session = session;
        batch.Sequence = _nextSequence;
        batch.Ordinal = _nextOrdinal++;
        _nextSequence = (int)(((long)_nextSequence + batch.RecordCount) & int.MaxValue);
    }

    /// <summary>A new session: whatever is pending is numbered anew from 0.</summary>
    /// <param name="untold">Gets the batches that must not be: they may be stored, and that cannot be known.</param>
    public void Renumber(List<SendBatch> untold)
    {
        _nextSequence = 0;
        _hasGap = false;
        foreach (SendBatch batch in _batches)
        {
            if (batch.Sequence >= 0 && batch.HadLoss && batch.Ordinal > _untoldOrdinal)
                untold.Add(batch);
            batch.Sequence = -1;
            batch.HadLoss = false;
        }

        _untoldOrdinal = long.MaxValue;
    }

    /// <summary>A batch that was taken out will never be stored by an attempt of this queue: those behind it are to be
    /// numbered again, at the next <see cref="TryCloseGap"/>.</summary>
    /// <returns>False if an answer to it was lost. A copy of it may still reach the broker: until the epoch rises, that
    /// would let in the copies behind it as well, after the broker has said that it misses something before
    /// them.</returns>
    public bool TryNoteGap(SendBatch batch)
    {
        if (batch.Sequence < 0)
            return true;
        if (batch.HadLoss)
        {
            _untoldOrdinal = Math.Min(_untoldOrdinal, batch.Ordinal);
            return false;
        }

        if (!_hasGap || batch.Ordinal < _gapOrdinal)
            (_hasGap, _gapOrdinal, _gapSequence) = (true, batch.Ordinal, batch.Sequence);
        return true;
    }

    /// <summary>Numbers the batches behind a gap again, once none of them is in flight.</summary>
    /// <returns>False if the gap cannot be closed so: an answer was lost, and an older copy may still come.</returns>
    public bool TryCloseGap()
    {
        if (!_hasGap)
            return true;
        foreach (SendBatch batch in _batches)
        {
            if (batch.Sequence < 0 || batch.Ordinal < _gapOrdinal)
                continue;
            if (batch.State == BatchState.Unknown || batch.HadLoss)
                return false;
            if (batch.State == BatchState.Sent)
                return true;
        }

        _hasGap = false;
        _nextSequence = _gapSequence;
        foreach (SendBatch batch in _batches)
        {
            if (batch.Ordinal > _gapOrdinal)
                batch.Sequence = -1;
        }

        return true;
    }

    /// <summary>
    /// Whether one more batch leaves the oldest unsettled one recognisable, should it have to be sent again.
    /// </summary>
    private bool IsWithin(int window) => First!.Sequence < 0 || _nextOrdinal - First.Ordinal < window;
}
