using System.Net;
using System.Net.Sockets;

namespace EQueue.Load.Scenarios;

/// <summary>
/// A way to a broker over a port of its own, which can be cut: all its connections end at once, and no more are taken.
/// </summary>
internal sealed class CutRelay : IAsyncDisposable
{
    private const int BufferBytes = 256 << 10;

    private readonly IPEndPoint _broker;
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly List<Socket> _sockets = [];
    private readonly List<Task> _pumps = [];
    private readonly Lock _gate = new();
    private readonly Task _accepting;
    private bool _isCut;

    public CutRelay(string server)
    {
        _broker = IPEndPoint.Parse(server);
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen();
        Address = $"{_listener.LocalEndPoint}";
        _accepting = AcceptAsync();
    }

    /// <summary>Where to connect in place of the broker.</summary>
    public string Address { get; }

    /// <summary>Ends every connection, in the middle of whatever it carries.</summary>
    public void Cut()
    {
        lock (_gate)
        {
            _isCut = true;
            _listener.Dispose();
            foreach (Socket socket in _sockets)
                socket.Close(timeout: 0);
        }
    }

    public async ValueTask DisposeAsync()
    {
        Cut();
        await _accepting;
        await Task.WhenAll(_pumps);
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
                await ConnectAsync(await _listener.AcceptAsync());
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // Cut.
        }
    }

    private async Task ConnectAsync(Socket client)
    {
        var broker = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        if (!TryKeep(client) || !TryKeep(broker))
            return;
        client.NoDelay = broker.NoDelay = true;
        await broker.ConnectAsync(_broker);
        lock (_gate)
        {
            _pumps.Add(PumpAsync(client, broker));
            _pumps.Add(PumpAsync(broker, client));
        }
    }

    private bool TryKeep(Socket socket)
    {
        lock (_gate)
        {
            if (!_isCut)
                _sockets.Add(socket);
            else
                socket.Dispose();
            return !_isCut;
        }
    }

    private static async Task PumpAsync(Socket from, Socket to)
    {
        byte[] buffer = new byte[BufferBytes];
        try
        {
            while (await from.ReceiveAsync(buffer) is > 0 and var size)
            {
                for (int sent = 0; sent < size;)
                    sent += await to.SendAsync(buffer.AsMemory(sent, size - sent));
            }

            to.Shutdown(SocketShutdown.Send);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            from.Close(timeout: 0);
            to.Close(timeout: 0);
        }
    }
}
