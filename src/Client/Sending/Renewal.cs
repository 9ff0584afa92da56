namespace EQueue.Client;

/// <summary>What the next producer session must be.</summary>
internal enum Renewal
{
    /// <summary>The present one is good.</summary>
    None,

    /// <summary>The same id in its next epoch.</summary>
    NextEpoch,

    /// <summary>A new id: the broker does not know the old one.</summary>
    NewId,
}
