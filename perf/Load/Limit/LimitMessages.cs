namespace EQueue.Load.Limit;

/// <summary>Where a listening role waits.</summary>
internal sealed record ListenResult(int Port);

/// <summary>One run of the yardstick.</summary>
/// <param name="Port">The port to send to; 0 for the consumer.</param>
/// <param name="File">The file that the broker writes; null for the others.</param>
internal sealed record LimitOrder(int Port, string? File, int BlockSize, long TotalBytes);

/// <summary>What one role moved, from its first byte to its last.</summary>
internal sealed record LimitResult(long Bytes, double Seconds, long Flushes);
