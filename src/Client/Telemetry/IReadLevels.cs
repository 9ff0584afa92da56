namespace EQueue.Client;

/// <summary>A reader's levels, as they are when a listener asks.</summary>
/// <remarks>Thread-safe.</remarks>
internal interface IReadLevels
{
    /// <summary>Bytes that were fetched and not read yet, by broker.</summary>
    IEnumerable<KeyValuePair<ServerAddress, long>> Prefetched();

    /// <summary>Messages behind the last one processed, as far as the last fetches told, by topic.</summary>
    IEnumerable<KeyValuePair<(string Topic, string? Group), long>> Backlogs();
}
