using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Entries without a batch: starts of epochs and seals.</summary>
internal sealed partial class CommitLog
{
    /// <summary>Lets the log grow by an entry that says nothing new: one more start of its epoch.</summary>
    /// <returns>False when there is no room now, or the log takes no more.</returns>
    public bool TryStageMark()
    {
        lock (_lock)
        {
            long nowMs = Math.Max(_time.GetUtcNow().ToUnixTimeMilliseconds(), _lastStoredTimeMs);
            if (Refusal(isReadOnly: false) != ErrorCode.None || !TryMakeRoom([], EntryHeaderSize, nowMs))
            {
                return false;
            }
            StageEpochStart(nowMs);
        }
        _writerSignal.Raise();
        return true;
    }

    private void StageEpochStart(AppendWaiter waiter)
    {
        lock (_lock)
        {
            long nowMs = Math.Max(_time.GetUtcNow().ToUnixTimeMilliseconds(), _lastStoredTimeMs);
            if (!FitsActive(EntryHeaderSize))
            {
                _prepared.Add(Prepare(NextCapacity(), isPaced: false));
            }
            long end = StageEpochStart(nowMs);
            AddWaiter(Durability.Durable, waiter, end);
        }
        _writerSignal.Raise();
    }

    private long StageEpochStart(long nowMs)
    {
        if (!FitsActive(EntryHeaderSize))
        {
            Roll(nowMs);
        }
        Claim(EntryHeaderSize);
        long end = StageMark(EntryKind.EpochStart, nowMs);
        EndRequest();
        return end;
    }

    /// <summary>Stages an entry without a batch: a seal, an epoch start.</summary>
    private long StageMark(EntryKind kind, long nowMs)
    {
        long position = _staged;
        Span<byte> entry = stackalloc byte[EntryHeaderSize];
        WriteHeader(entry, QueueId.State, kind, EntryHeaderSize, 0, nowMs, default);
        _arena.Write(position, entry);
        _lastStoredTimeMs = nowMs;
        Volatile.Write(ref _staged, position + EntryHeaderSize);
        return position + EntryHeaderSize;
    }
}
