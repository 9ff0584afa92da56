using System.Net;
using System.Net.Sockets;
using EQueue.Remoting;

namespace EQueue.Support;

/// <summary>Stands before a port and carries what goes either way: its connections can be cut and refused, and a class
/// that derives from it sees the bytes.</summary>
public class TcpRelay : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly List<Task> _links = [];
    private readonly Lock _lock = new();
    private readonly Task _accepting;
    private CancellationTokenSource _cut = new();
    private volatile bool _isRefusing;

    /// <param name="target">HOST:PORT; null = to be set before connections come.</param>
    public TcpRelay(string? target = null)
    {
        Target = target is null ? null : IPEndPoint.Parse(target);
        _listener.Start();
        Address = HostPort.Format(_listener.LocalEndpoint);
        _accepting = AcceptAsync();
    }

    public string Address { get; }

    public Uri Uri => new($"http://{Address}");

    /// <summary>Where connections go.</summary>
    public IPEndPoint? Target { get; set; }

    /// <summary>Ends all connections; new ones pass.</summary>
    public void Cut()
    {
        CancellationTokenSource cut;
        lock (_lock)
            (cut, _cut) = (_cut, new CancellationTokenSource());
        using (cut)
            cut.Cancel();
    }

    /// <summary>Ends all connections, and refuses new ones.</summary>
    public void Refuse()
    {
        _isRefusing = true;
        Cut();
    }

    /// <summary>Everything passes again.</summary>
    public virtual void Pass() => _isRefusing = false;

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        await _accepting;
        _listener.Dispose();
        Cut();
        await Task.WhenAll(_links);
        _cut.Dispose();
        _end.Dispose();
        GC.SuppressFinalize(this);
    }

    /// <summary>Called with the bytes of each read before they are written; may change them, and may wait.</summary>
    /// <param name="isAnswer">They come from the target.</param>
    /// <param name="end">The connection ends.</param>
    /// <returns>False = the connection ends in their place.</returns>
    protected virtual ValueTask<bool> PassAsync(Memory<byte> bytes, bool isAnswer, CancellationToken end) => new(true);

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                TcpClient near = await _listener.AcceptTcpClientAsync(_end.Token);
                lock (_lock)
                    _links.Add(LinkAsync(near, _cut.Token));
            }
        }
        catch (OperationCanceledException)
        {
            // Disposed.
        }
    }

    private async Task LinkAsync(TcpClient near, CancellationToken cut)
    {
        using (near)
        using (var far = new TcpClient())
        using (var end = CancellationTokenSource.CreateLinkedTokenSource(cut))
        {
            if (_isRefusing || Target is not { } target)
                return;
            NetworkStream there, back;
            try
            {
                near.NoDelay = far.NoDelay = true;
                await far.ConnectAsync(target, end.Token);
                (there, back) = (far.GetStream(), near.GetStream());
            }
            catch (Exception exception) when (
                exception is SocketException or OperationCanceledException or InvalidOperationException)
            {
                return; // one of them has gone already
            }

            Task[] flows = [FlowAsync(back, there, isAnswer: false, end.Token), FlowAsync(there, back, true, end.Token)];
            await Task.WhenAny(flows);
            await end.CancelAsync();
            await Task.WhenAll(flows);
        }
    }

    private async Task FlowAsync(NetworkStream from, NetworkStream to, bool isAnswer, CancellationToken end)
    {
        byte[] bytes = new byte[64 << 10];
        try
        {
            while (await from.ReadAsync(bytes, end) is var size and > 0
                && await PassAsync(bytes.AsMemory(0, size), isAnswer, end))
            {
                await to.WriteAsync(bytes.AsMemory(0, size), end);
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException or ObjectDisposedException)
        {
            // One end has gone.
        }
    }
}
