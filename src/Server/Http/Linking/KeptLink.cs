using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>The link that one request left at rest, for the next one of the same asker: so that the requests of one
/// HTTP connection make one link, and it ends with them.</summary>
/// <remarks>Thread-safe. A link that was taken is the taker's, to be given back or disposed.</remarks>
internal sealed class KeptLink : IAsyncDisposable
{
    private readonly Lock _lock = new();
    private BrokerLink? _link;
    private bool _isOver;

    /// <summary>The link, if it is the asker's.</summary>
    public BrokerLink? Take(InProcessWord asker)
    {
        lock (_lock)
        {
            if (_link is not { } link || link.Asker != asker)
                return null;
            _link = null;
            return link;
        }
    }

    /// <summary>Keeps a link at rest in place of the one before.</summary>
    public async ValueTask KeepAsync(BrokerLink link)
    {
        BrokerLink? leaving = link;
        lock (_lock)
        {
            if (!_isOver)
                (leaving, _link) = (_link, link);
        }

        if (leaving is not null)
            await leaving.DisposeAsync();
    }

    public async ValueTask DisposeAsync()
    {
        BrokerLink? leaving;
        lock (_lock)
        {
            _isOver = true;
            (leaving, _link) = (_link, null);
        }

        if (leaving is not null)
            await leaving.DisposeAsync();
    }
}
