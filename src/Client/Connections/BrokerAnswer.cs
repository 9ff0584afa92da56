namespace EQueue.Client;

/// <summary>What one of several brokers answered.</summary>
/// <param name="Share">The index of its address among the given ones.</param>
/// <param name="Answer">The answer.</param>
internal readonly record struct BrokerAnswer<T>(int Share, T Answer);
