using System.Net;
using System.Net.Sockets;

namespace EQueue.Client.Tests;

/// <summary>A wire to a broker that can be cut, as a killed process or a broken network cuts it.</summary>
internal sealed class CutWire : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly IPEndPoint _broker;
    private readonly Lock _lock = new();
    private readonly List<TcpClient> _ends = [];
    private readonly CancellationTokenSource _stopping = new();
    private readonly Task _accepting;
    private bool _isCut;

    public CutWire(string broker)
    {
        _broker = IPEndPoint.Parse(broker);
        _listener.Start();
        _accepting = Task.Run(AcceptAsync);
    }

    public string Address => ((IPEndPoint)_listener.LocalEndpoint).ToString();

    /// <summary>Ends every connection; new ones are let through at once.</summary>
    public void Cut()
    {
        TcpClient[] ends;
        lock (_lock)
        {
            ends = [.. _ends];
            _ends.Clear();
        }

        foreach (var end in ends)
            end.Close();
    }

    /// <summary>Ends every connection and lets no other through until <see cref="Mend"/>.</summary>
    public void Sever()
    {
        lock (_lock)
            _isCut = true;
        Cut();
    }

    public void Mend()
    {
        lock (_lock)
            _isCut = false;
    }

    public async ValueTask DisposeAsync()
    {
        await _stopping.CancelAsync();
        await _accepting;
        _listener.Stop();
        Cut();
        _stopping.Dispose();
    }

    private static async Task CopyAsync(TcpClient from, TcpClient to)
    {
        try
        {
            await from.GetStream().CopyToAsync(to.GetStream());
        }
        catch (Exception exception)
            when (exception is IOException or ObjectDisposedException or InvalidOperationException)
        {
            // Cut.
        }

        from.Close();
        to.Close();
    }

    private async Task AcceptAsync()
    {
        while (!_stopping.IsCancellationRequested)
        {
            try
            {
                _ = CarryAsync(await _listener.AcceptTcpClientAsync(_stopping.Token));
            }
            catch (Exception exception) when (exception is SocketException or OperationCanceledException)
            {
                // One that was gone before it was taken, or the end.
            }
        }
    }

    private async Task CarryAsync(TcpClient near)
    {
        using var far = new TcpClient();
        if (!TryKeep(near, far))
            return;
        try
        {
            await far.ConnectAsync(_broker);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            near.Close();
            return;
        }

        await Task.WhenAll(CopyAsync(near, far), CopyAsync(far, near));
    }

    private bool TryKeep(TcpClient near, TcpClient far)
    {
        lock (_lock)
        {
            if (!_isCut)
            {
                near.NoDelay = far.NoDelay = true;
                _ends.AddRange([near, far]);
                return true;
            }
        }

        near.Close();
        far.Close();
        return false;
    }
}
