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
            if (!HasRoomForMark())
            {
                Roll(nowMs);
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
            if (!HasRoomForMark())
            {
                _prepared.Add(Prepare(NextCapacity(), isPaced: false));
                Roll(nowMs);
            }
            long end = StageEpochStart(nowMs);
            AddWaiter(Durability.Durable, waiter, end);
        }
        _writerSignal.Raise();
    }

    /// <summary>Whether the active segment holds one more mark and its seal.</summary>
    private bool HasRoomForMark() => _staged + (2 * EntryHeaderSize) <= _active.BasePosition + _active.Capacity;

    private long StageEpochStart(long nowMs)
    {
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
