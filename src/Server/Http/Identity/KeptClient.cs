using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>The client that one request left at rest, for the next one of the same asker: so that the requests of one
/// HTTP connection make one client, and it ends with them.</summary>
/// <remarks>Thread-safe. A client that was taken is the taker's, to be given back or disposed.</remarks>
internal sealed class KeptClient : IAsyncDisposable
{
    private readonly Lock _lock = new();
    private AskerClient? _client;
    private bool _isOver;

    /// <summary>The client, if it is the asker's.</summary>
    public AskerClient? Take(InProcessWord asker)
    {
        lock (_lock)
        {
            if (_client is not { } client || client.Asker != asker)
                return null;
            _client = null;
            return client;
        }
    }

    /// <summary>Keeps a client at rest in place of the one before.</summary>
    public async ValueTask KeepAsync(AskerClient client)
    {
        AskerClient? leaving = client;
        lock (_lock)
        {
            if (!_isOver)
                (leaving, _client) = (_client, client);
        }

        if (leaving is not null)
            await leaving.DisposeAsync();
    }

    public async ValueTask DisposeAsync()
    {
        AskerClient? leaving;
        lock (_lock)
        {
            _isOver = true;
            (leaving, _client) = (_client, null);
        }

        if (leaving is not null)
            await leaving.DisposeAsync();
    }
}
