namespace EQueue.Remoting;

/// <summary>What one connection's unsent frames take of the budget of all. Its owner guards it.</summary>
internal struct SendAccount(SendBudget? budget)
{
    private long _countedBytes;

    /// <summary>Takes or gives back the difference to what counted before.</summary>
    /// <param name="queuedBytes">What the connection has queued.</param>
    public void Count(long queuedBytes)
    {
        long bytes = queuedBytes & ~(SendBudget.UnitBytes - 1L);
        if (bytes == _countedBytes || budget is null)
            return;
        budget.Take(bytes - _countedBytes);
        _countedBytes = bytes;
    }

    /// <summary>How much may be queued before its user waits.</summary>
    /// <param name="maxBytes">While there is room for all.</param>
    public readonly int Allow(int maxBytes) =>
        budget is { IsSpent: true } ? Math.Min(SendBudget.UnitBytes, maxBytes) : maxBytes;
}
