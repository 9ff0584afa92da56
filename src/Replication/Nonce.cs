namespace EQueue.Replication;

/// <summary>The name of one epoch's beginning: 16 random bytes that tell two epochs of equal number apart.</summary>
/// <param name="Value">Random; all zero means none.</param>
public readonly record struct Nonce(UInt128 Value);
