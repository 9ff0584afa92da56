using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>One entry of a log as <see cref="LogInspector"/> sees it.</summary>
/// <param name="Position">Where it is.</param>
/// <param name="Size">Bytes with its header.</param>
/// <param name="Kind">What it holds.</param>
/// <param name="Queue">Whose it is; 0 = state.</param>
/// <param name="Epoch">That stamped it.</param>
/// <param name="Stored">When it was stamped.</param>
/// <param name="Flags">See <see cref="EntryFlags"/>.</param>
/// <param name="FirstOffset">Of its first record; -1 without a batch.</param>
/// <param name="RecordCount">Its records; 0 without a batch.</param>
/// <param name="Producer">Who sent it; <see cref="ProducerSession.None"/> without sequences or batch.</param>
public sealed record EntrySummary(
    LogPosition Position,
    int Size,
    EntryKind Kind,
    QueueId Queue,
    int Epoch,
    DateTimeOffset Stored,
    EntryFlags Flags,
    QueueOffset FirstOffset,
    int RecordCount,
    ProducerSession Producer);
