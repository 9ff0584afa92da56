using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The end of a replica's log and the entry before it.</summary>
/// <param name="End">Where the next entry stands.</param>
/// <param name="Epoch">Of the last entry; 0 when there is none.</param>
/// <param name="Position">Of the last entry.</param>
/// <param name="Crc">Of the last entry: its own checksum, which its batch's is part of.</param>
public readonly record struct ReplicaTail(LogPosition End, int Epoch, LogPosition Position, uint Crc);
