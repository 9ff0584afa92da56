namespace EQueue.Client;

/// <summary>A figure of a broker.</summary>
/// <param name="Name">Room, dot, what it counts, unit last: <c>store.bytesWritten</c>,
/// <c>process.cpuMicroseconds</c>.</param>
/// <param name="Value">A count since the start, or a level now.</param>
public readonly record struct BrokerFigure(string Name, long Value);
