namespace EQueue.Load.Sockets;

/// <summary>Messages back and forth over a bare socket.</summary>
/// <param name="Rate">Sent when due, this many a second; null: each when the answer to the last is there.</param>
/// <param name="ReplySize">Bytes of an answer; 0: as many as the message.</param>
internal sealed record EchoOrder(int Port, int Size, int? Rate, double Seconds, double Warmup, int ReplySize = 0);

/// <summary>Round trips of a bare socket.</summary>
internal sealed record EchoResult(double P50Us, double P99Us, double PerSecond);

/// <summary>Blocks of bytes one way over a bare socket.</summary>
internal sealed record StreamOrder(int Port, double Seconds);

/// <summary>What a bare socket carried one way.</summary>
internal sealed record StreamResult(double MBps);
