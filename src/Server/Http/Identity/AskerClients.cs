using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>Clients of the broker, each of one asker and lent to one request at a time, so that none waits behind
/// another.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class AskerClients(InMemoryEndPoint endPoint, int maxFrameBytes, TimeSpan longestWait)
{
    /// <summary>A client for the caller alone, until it is given back.</summary>
    /// <param name="asker">Whose requests go through it; with the address, since the broker writes it down.</param>
    /// <param name="kept">Where an earlier request may have left one.</param>
    public AskerClient Rent(InProcessWord asker, KeptClient kept) =>
        kept.Take(asker) ?? new AskerClient(endPoint, maxFrameBytes, longestWait, asker);

    /// <summary>Takes a client back. One with a request under way is closed: the broker gives that up then.</summary>
    public static ValueTask ReturnAsync(AskerClient client, bool isAtRest, KeptClient kept) =>
        isAtRest ? kept.KeepAsync(client) : client.DisposeAsync();
}
