namespace EQueue.MessageStore;

/// <summary>What every file and entry of an opened log says of where it comes from.</summary>
/// <param name="StoreId">Random id of the data directory.</param>
/// <param name="LogId">Random id of the log.</param>
/// <param name="Epoch">Of this opening.</param>
internal sealed record LogIdentity(Guid StoreId, Guid LogId, int Epoch);
