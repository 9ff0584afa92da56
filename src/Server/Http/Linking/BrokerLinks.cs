using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Server.Http;

/// <summary>Links to the broker, each of one asker and lent to one request at a time, so that none waits behind
/// another.</summary>
/// <remarks>Thread-safe. As many as there are requests; a few are kept between them.</remarks>
internal sealed class BrokerLinks(InMemoryEndPoint endPoint, int maxFrameBytes) : IAsyncDisposable
{
    private const int MostIdle = 4;

    private readonly Lock _lock = new();

    /// <summary>The one that was given back last is last.</summary>
    private readonly List<BrokerLink> _idle = [];
    private bool _isDisposed;

    /// <summary>A link for the caller alone, until it is given back.</summary>
    /// <param name="asker">Whose requests go through it; with the address, since the broker writes it down.</param>
    public BrokerLink Rent(InProcessWord asker)
    {
        lock (_lock)
        {
            int at = _idle.FindLastIndex(one => one.Asker == asker);
            if (at >= 0)
            {
                BrokerLink link = _idle[at];
                _idle.RemoveAt(at);
                return link;
            }
        }

        return new BrokerLink(endPoint, maxFrameBytes, asker);
    }

    /// <summary>Takes a link back. One with a request under way is closed: the broker gives that up then.</summary>
    public async ValueTask ReturnAsync(BrokerLink link, bool isAtRest)
    {
        BrokerLink? leaving = link;
        lock (_lock)
        {
            if (isAtRest && !_isDisposed)
            {
                _idle.Add(link);
                leaving = _idle.Count > MostIdle ? _idle[0] : null;
                if (leaving is not null) _idle.RemoveAt(0);
            }
        }

        if (leaving is not null) await leaving.DisposeAsync();
    }

    public async ValueTask DisposeAsync()
    {
        BrokerLink[] leaving;
        lock (_lock)
        {
            _isDisposed = true;
            leaving = [.. _idle];
            _idle.Clear();
        }

        foreach (BrokerLink link in leaving)
            await link.DisposeAsync();
    }
}
