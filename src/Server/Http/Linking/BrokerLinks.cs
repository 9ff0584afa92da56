using System.Collections.Concurrent;
using EQueue.Remoting;

namespace EQueue.Server.Http;

/// <summary>Links to the broker, each lent to one request at a time, so that none waits behind another.</summary>
/// <remarks>Thread-safe. As many as there are requests; a few are kept between them.</remarks>
internal sealed class BrokerLinks(InMemoryEndPoint endPoint, int maxFrameBytes) : IAsyncDisposable
{
    private const int MostIdle = 4;

    private readonly ConcurrentBag<BrokerLink> _idle = [];
    private volatile bool _isDisposed;

    /// <summary>A link for the caller alone, until it is given back.</summary>
    public BrokerLink Rent() => _idle.TryTake(out BrokerLink? link) ? link : new BrokerLink(endPoint, maxFrameBytes);

    /// <summary>Takes a link back. One with a request under way is closed: the broker gives that up then.</summary>
    public async ValueTask ReturnAsync(BrokerLink link, bool isAtRest)
    {
        if (isAtRest && !_isDisposed && _idle.Count < MostIdle)
        {
            _idle.Add(link);
            if (!_isDisposed)
                return;
            await DisposeAsync();
            return;
        }

        await link.DisposeAsync();
    }

    public async ValueTask DisposeAsync()
    {
        _isDisposed = true;
        while (_idle.TryTake(out BrokerLink? link))
            await link.DisposeAsync();
    }
}
