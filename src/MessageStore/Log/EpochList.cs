using System.Security.Cryptography;
using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The epochs that recovery finds, oldest first: in the snapshot, then in the log behind it.</summary>
/// <remarks>One thread. What it becomes when the log begins its own epoch is a <see cref="LogHistory"/>, which changes
/// no more.</remarks>
internal sealed class EpochList
{
    /// <summary>Epochs kept; of more the oldest are forgotten.</summary>
    public const int Most = 256;

    private readonly List<HistoryEpoch> _epochs = [];

    private int Last => _epochs.Count > 0 ? _epochs[^1].Mark.Epoch : -1;

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
    /// its start may be lost.</summary>
    public void Visit(in EntryHeader header)
    {
        if (header.Epoch <= Last)
            return;
        uint mark = header.Kind == EntryKind.EpochStart ? header.Mark : 0;
        _epochs.Add(new HistoryEpoch(new HistoryMark(header.Epoch, mark), header.Position.Value));
    }

    /// <summary>The history of a log that begins an epoch of its own at a position.</summary>
    /// <param name="epoch">Above all in the list.</param>
    /// <param name="start">The position.</param>
    /// <param name="lastMessageEnd">Behind this position no entry has messages: epochs that began there left nothing
    /// that could be read.</param>
    public LogHistory Begin(int epoch, long start, long lastMessageEnd)
    {
        int kept = _epochs.Count;
        while (kept > 0 && _epochs[kept - 1].Start >= lastMessageEnd)
            kept--;
        var own = new HistoryEpoch(new HistoryMark(epoch, NewMark()), start);
        return new LogHistory([.. _epochs.Take(kept).TakeLast(Most - 1), own]);
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
