using System.Security.Cryptography;
using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The epochs that recovery finds, oldest first: in the snapshot, then in the log behind it.</summary>
/// <remarks>One thread. What it becomes when the log begins its own epoch is a <see cref="LogHistory"/>, which changes
/// no more.</remarks>
internal sealed class EpochList
{
    /// <summary>Epochs of the history that readers are told; of more the oldest are forgotten.</summary>
    public const int Most = 256;

    /// <summary>Epochs that a snapshot knows: all that replicas may have to compare, in a log that began a new one
    /// every minute for two days.</summary>
    private const int MostKnown = 4096;

    private readonly List<HistoryEpoch> _epochs = [];

    /// <summary>All that are known; of many the newest.</summary>
    public IReadOnlyList<HistoryEpoch> All => [.. _epochs.TakeLast(MostKnown)];

    private int Last => _epochs.Count > 0 ? _epochs[^1].Mark.Epoch : -1;

    /// <summary>The newest of some epochs up to <paramref name="epoch"/>, and where it ends; epoch 0 with end 0 when
    /// there is none.</summary>
    /// <param name="all">Rising.</param>
    /// <param name="epoch">The highest that is asked for.</param>
    /// <param name="end">Where the last one ends.</param>
    public static (int Epoch, LogPosition End) EndOf(IReadOnlyList<HistoryEpoch> all, int epoch, LogPosition end)
    {
        for (int i = all.Count - 1; i >= 0; i--)
        {
            if (all[i].Mark.Epoch <= epoch)
                return (all[i].Mark.Epoch, i + 1 < all.Count ? new LogPosition(all[i + 1].Start) : end);
        }

        return (0, default);
    }

    /// <summary>Takes what a snapshot knew; before anything else.</summary>
    public void Load(IEnumerable<HistoryEpoch> known)
    {
        foreach (HistoryEpoch epoch in known)
        {
            if (epoch.Mark.Epoch > Last)
                _epochs.Add(epoch);
        }
    }

    /// <summary>Takes an entry, in the order of the log. The first of an epoch says where that began, the more so as
    /// its start may be lost; a seal may stand before it.</summary>
    public void Visit(in EntryHeader header)
    {
        bool isStart = header.Kind == EntryKind.EpochStart;
        if (isStart && header.Epoch == Last && _epochs[^1].Mark.Mark == 0)
            _epochs[^1] = _epochs[^1] with { Mark = new HistoryMark(header.Epoch, header.Mark) };
        if (header.Epoch <= Last)
            return;
        uint mark = isStart ? header.Mark : 0;
        _epochs.Add(new HistoryEpoch(new HistoryMark(header.Epoch, mark), header.Position.Value));
    }

    /// <summary>Forgets what began at or behind a position.</summary>
    public void CutTo(long end) => _epochs.RemoveAll(epoch => epoch.Start >= end);

    /// <summary>The history of a log that begins an epoch of its own at a position. None is left out but the oldest:
    /// the start of an epoch without messages takes bytes as well, where another log may have messages.</summary>
    /// <param name="epoch">Above all in the list, or the last of it, of which recovery has written a seal.</param>
    /// <param name="start">The position; of one that is there already, that stays.</param>
    public LogHistory Begin(int epoch, long start)
    {
        if (epoch == Last)
        {
            start = _epochs[^1].Start;
            _epochs.RemoveAt(_epochs.Count - 1);
        }

        _epochs.Add(new HistoryEpoch(new HistoryMark(epoch, NewMark()), start));
        return new LogHistory([.. _epochs.TakeLast(Most)]);
    }

    private static uint NewMark()
    {
        Span<byte> bytes = stackalloc byte[sizeof(uint)];
        uint mark;
        do
        {
            RandomNumberGenerator.Fill(bytes);
            mark = BitConverter.ToUInt32(bytes);
        }
        while (mark == 0);
        return mark;
    }
}
