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
            long nowMs = Math.Max(_clock.NowMs(), _lastStoredTimeMs);
            bool mayStage = (_lead is null || _hasBegun) && Refusal(isReadOnly: false) == ErrorCode.None;
            if (!mayStage || !TryMakeRoom([], EntryHeaderSize, nowMs))
                return false;
            StageEpochStart(nowMs, History.Opening.Mark);
        }
        _writerSignal.Raise();
        return true;
    }

    /// <summary>Has stored times go on from an earlier time than they have come to.</summary>
    /// <returns>False when there is no room now, or the log takes no more.</returns>
    public bool TryResetTime(long timeMs)
    {
        long lastMs = Locked(() => _lastStoredTimeMs);
        if (timeMs >= lastMs)
            return true;
        StateEntry[] reset = [LogState.ResetTime(timeMs)];
        ReadOnlySpan<byte> batch = new StateBatchEncoder().Encode(reset, timeMs).Span;
        try
        {
            if (AppendState(batch, reset.Length, reset, Durability.Policy, new NobodyWaits()) == AppendStatus.NoRoom)
                return false;
        }
        catch (EQueueException)
        {
            return false;
        }
        Log.StoredTimeReset(
            _logger,
            _directory,
            TimeSpan.FromMilliseconds(lastMs - timeMs),
            DateTimeOffset.FromUnixTimeMilliseconds(timeMs));
        return true;
    }

    /// <summary>Begins the epoch; the history is known from here on.</summary>
    /// <returns>The position behind its start.</returns>
    private long BeginEpoch()
    {
        long end;
        lock (_lock)
        {
            long nowMs = Math.Max(_clock.NowMs(), _lastStoredTimeMs);
            long start = _marks.Staged;
            if (!FitsActive(EntryHeaderSize))
            {
                _prepared.Add(Prepare(NextCapacity(), isPaced: false));
                Roll(nowMs);
            }
            History = _epochs.Begin(Epoch, start);
            Epochs = _epochs.All;
            end = StageEpochStart(nowMs, History.Opening.Mark);
            _marks.WantDurable(end);
        }
        _writerSignal.Raise();
        return end;
    }

    private long StageEpochStart(long nowMs, uint mark)
    {
        if (!FitsActive(EntryHeaderSize))
            Roll(nowMs);
        Claim(EntryHeaderSize);
        long end = StageMark(EntryKind.EpochStart, nowMs, mark);
        EndRequest();
        return end;
    }

    /// <summary>Stages an entry without a batch: a seal, an epoch start.</summary>
    private long StageMark(EntryKind kind, long nowMs, uint mark = 0)
    {
        long position = _marks.Staged;
        Span<byte> entry = stackalloc byte[EntryHeaderSize];
        var header = new EntryHeader
        {
            Size = EntryHeaderSize,
            Position = new LogPosition(position),
            Queue = QueueId.State,
            Epoch = Epoch,
            StoredTimeMs = nowMs,
            Kind = kind,
            TagBits = 0,
            DurableDistance = EntryHeader.DistanceOf(new LogPosition(position), new LogPosition(Settled)),
            Mark = mark,
        };
        EntryHeader.Write(entry, header, _logSeed, default);
        _arena.Write(position, entry);
        _lastStoredTimeMs = nowMs;
        _marks.Stage(position + EntryHeaderSize);
        return position + EntryHeaderSize;
    }
}
