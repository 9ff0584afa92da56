using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Server.Http;

/// <summary>Links to the broker, each of one asker and lent to one request at a time, so that none waits behind
/// another.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class BrokerLinks(InMemoryEndPoint endPoint, int maxFrameBytes)
{
    /// <summary>A link for the caller alone, until it is given back.</summary>
    /// <param name="asker">Whose requests go through it; with the address, since the broker writes it down.</param>
    /// <param name="kept">Where an earlier request may have left one.</param>
    public BrokerLink Rent(InProcessWord asker, KeptLink kept) =>
        kept.Take(asker) ?? new BrokerLink(endPoint, maxFrameBytes, asker);

    /// <summary>Takes a link back. One with a request under way is closed: the broker gives that up then.</summary>
    public static ValueTask ReturnAsync(BrokerLink link, bool isAtRest, KeptLink kept) =>
        isAtRest ? kept.KeepAsync(link) : link.DisposeAsync();
}
