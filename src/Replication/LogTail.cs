using EQueue.Protocol;

namespace EQueue.Replication;

/// <summary>The end of a log and the entry before it: two logs with equal tails are equal below their end.</summary>
/// <param name="End">Where the next entry will stand.</param>
/// <param name="Epoch">The last entry's epoch; 0 when the log is empty, or was copied by files of what is committed
/// and has no entry of its own behind them.</param>
/// <param name="Position">Where the last entry stands.</param>
/// <param name="Crc">The last entry's CRC.</param>
public readonly record struct LogTail(LogPosition End, int Epoch, LogPosition Position, uint Crc);
