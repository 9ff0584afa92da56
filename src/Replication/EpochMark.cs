namespace EQueue.Replication;

/// <summary>An epoch and what tells it from another one of the same number.</summary>
/// <param name="Epoch">0 before the first.</param>
/// <param name="Nonce">The epoch's nonce.</param>
public readonly record struct EpochMark(int Epoch, Nonce Nonce);
