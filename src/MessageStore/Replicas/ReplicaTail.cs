using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The end of a replica's log and the entry before it.</summary>
/// <param name="End">Where the next entry stands.</param>
/// <param name="Epoch">Of the last entry; 0 when there is none.</param>
/// <param name="Position">Of the last entry.</param>
/// <param name="Crc">Of the last entry: its own checksum, which its batch's is part of.</param>
public readonly record struct ReplicaTail(LogPosition End, int Epoch, LogPosition Position, uint Crc)
{
    /// <summary>The tail of a log whose last entry has this header.</summary>
    internal static ReplicaTail Behind(in EntryHeader last) =>
        new(new LogPosition(last.Position.Value + last.Size), last.Epoch, last.Position, last.Crc);
}
