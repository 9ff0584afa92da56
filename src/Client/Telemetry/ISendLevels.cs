namespace EQueue.Client;

/// <summary>A producer's levels, as they are when a listener asks.</summary>
/// <remarks>Thread-safe.</remarks>
internal interface ISendLevels
{
    /// <summary>Bytes of memory held for messages that are not acknowledged.</summary>
    long BufferedBytes { get; }

    /// <summary>Produce requests that are not answered, by broker.</summary>
    IEnumerable<KeyValuePair<ServerAddress, long>> InFlightRequests();

    /// <summary>Bytes of the batches in them, by broker.</summary>
    IEnumerable<KeyValuePair<ServerAddress, long>> InFlightBytes();

    /// <summary>Sends that wait for a route or for memory, by topic.</summary>
    IEnumerable<KeyValuePair<string, long>> WaitingSends();
}
