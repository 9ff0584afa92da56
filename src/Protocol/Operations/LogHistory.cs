namespace EQueue.Protocol;

/// <summary>Names one opening of a log: its epoch, and a number that tells it from another of the same epoch.</summary>
/// <param name="Epoch">The epoch, 1 or more; 0 = no opening is named.</param>
/// <param name="Mark">Random, made at the opening; 0 = an opening by a build that made none.</param>
/// <remarks>
/// Two copies of a directory, each opened for itself, have openings of equal epochs. Their marks differ, but for one
/// case in 4 billion.
/// </remarks>
public readonly record struct HistoryMark(int Epoch, uint Mark) : IPayload<HistoryMark>
{
    /// <summary>Bytes of an encoded mark: epoch i32, mark u32.</summary>
    public const int Size = 4 + 4;

    /// <inheritdoc/>
    public static HistoryMark Read(ref PayloadReader reader) => new(reader.ReadInt32(), reader.ReadUInt32());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteInt32(Epoch);
        writer.WriteUInt32(Mark);
    }
}

/// <summary>An epoch of a log and where it began.</summary>
/// <param name="Mark">The epoch's opening.</param>
/// <param name="Start">The position in the log of the epoch's first entry.</param>
public readonly record struct HistoryEpoch(HistoryMark Mark, long Start) : IPayload<HistoryEpoch>
{
    internal const int Size = HistoryMark.Size + 8;

    /// <inheritdoc/>
    public static HistoryEpoch Read(ref PayloadReader reader) => new(HistoryMark.Read(ref reader), reader.ReadInt64());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Mark.Write(writer);
        writer.WriteInt64(Start);
    }
}

/// <summary>The epochs of a log, oldest first: which openings wrote it, and where each began.</summary>
/// <remarks>
/// An opening writes on at the end of what it found, alone. So two logs that share an opening are the same up to the
/// first place at which either of them continues under another one; what comes behind has nothing in common but
/// numbers. The oldest may be left out. None between two that are told may, not even one without messages: its start
/// takes bytes, where the other log may have a message.
/// </remarks>
public sealed record LogHistory(IReadOnlyList<HistoryEpoch> Epochs) : IPayload<LogHistory>
{
    /// <summary>Epochs in a list on the wire, at most.</summary>
    public const int MaxEpochs = 1_000;

    /// <summary>The fork of two histories that are the same.</summary>
    public const long NoFork = long.MaxValue;

    /// <summary>Nothing is known.</summary>
    public static LogHistory None { get; } = new([]);

    /// <summary>The newest opening.</summary>
    public HistoryMark Opening => Epochs.Count > 0 ? Epochs[^1].Mark : default;

    /// <summary>The position at which this log continues in another way than one that a reader knew before.</summary>
    /// <param name="known">The history of that log, as far as it is known.</param>
    /// <returns>What lies before it is the same in both; <see cref="NoFork"/> when nothing differs.</returns>
    public long ForkFrom(LogHistory known)
    {
        int mine = Epochs.Count - 1;
        int other = known.Epochs.Count - 1;
        long fork = NoFork;
        while (mine >= 0 && other >= 0)
        {
            (HistoryEpoch here, HistoryEpoch there) = (Epochs[mine], known.Epochs[other]);
            if (here == there)
                return fork;
            if (here.Mark.Epoch >= there.Mark.Epoch)
            {
                fork = Math.Min(fork, here.Start);
                mine--;
            }

            if (there.Mark.Epoch >= here.Mark.Epoch)
            {
                fork = Math.Min(fork, there.Start);
                other--;
            }
        }

        // No opening in common is known. One that is older than all that is kept here ended before it.
        return mine >= 0 ? Math.Min(fork, Epochs[0].Start) : fork;
    }

    /// <inheritdoc/>
    public static LogHistory Read(ref PayloadReader reader)
    {
        HistoryEpoch[] epochs = reader.ReadList<HistoryEpoch>(HistoryEpoch.Size);
        for (int i = 0; i < epochs.Length; i++)
        {
            if (epochs[i].Start < 0 || epochs[i].Mark.Epoch < 0
                || (i > 0 && epochs[i].Mark.Epoch <= epochs[i - 1].Mark.Epoch))
            {
                reader.Fail();
                return None;
            }
        }

        return new LogHistory(epochs);
    }

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => writer.WriteList(Epochs);
}
