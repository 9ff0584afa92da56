using System.Net;
using System.Net.Sockets;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>Stands before a port: connections through it can be refused, hold what goes either way, or be
/// damaged.</summary>
internal sealed class LinkProxy : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly Task _accepting;
    private readonly Lock _lock = new();
    private readonly List<Task> _links = [];
    private CancellationTokenSource _cut = new();

    public LinkProxy(Uri? target = null)
    {
        if (target is not null) Target = new IPEndPoint(IPAddress.Parse(target.Host), target.Port);
        _listener.Start();
        Address = HostPort.Format(_listener.LocalEndpoint);
        _accepting = AcceptAsync();
    }

    public string Address { get; }

    public Uri Uri => new($"http://{Address}");

    /// <summary>Where connections go.</summary>
    public IPEndPoint? Target { get; set; }

    /// <summary>Whether connections end as soon as they begin.</summary>
    public bool IsRefusing { get; private set; }

    /// <summary>Whether what goes to the target waits, as in a network that carries one way only: TCP sends it again until
    /// it is through.</summary>
    public bool HoldsThere { get; set; }

    /// <summary>Whether what comes from the target waits.</summary>
    public bool HoldsBack { get; set; }

    /// <summary>Called with bytes on their way to the target; may change them.</summary>
    public Action<Memory<byte>>? Damage { get; set; }

    /// <summary>Ends all connections, and refuses new ones.</summary>
    public void Refuse()
    {
        IsRefusing = true;
        lock (_lock)
        {
            _cut.Cancel();
            _cut = new CancellationTokenSource();
        }
    }

    /// <summary>Everything passes again.</summary>
    public void Pass() => IsRefusing = HoldsThere = HoldsBack = false;

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        await _accepting;
        _listener.Dispose();
        Refuse();
        Task[] links;
        lock (_lock) links = [.. _links];
        await Task.WhenAll(links);
        _cut.Dispose();
        _end.Dispose();
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                TcpClient near = await _listener.AcceptTcpClientAsync(_end.Token);
                lock (_lock) _links.Add(LinkAsync(near, _cut.Token));
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
            if (IsRefusing || Target is not { } target) return;
            NetworkStream there, back;
            try
            {
                await far.ConnectAsync(target, end.Token);
                (there, back) = (far.GetStream(), near.GetStream());
            }
            catch (Exception exception) when (
                exception is SocketException or OperationCanceledException or InvalidOperationException)
            {
                return; // one of them has gone already
            }

            Task[] flows =
            [
                FlowAsync(back, there, () => HoldsThere, bytes => Damage?.Invoke(bytes), end.Token),
                FlowAsync(there, back, () => HoldsBack, static _ => { }, end.Token),
            ];
            await Task.WhenAny(flows);
            await end.CancelAsync();
            await Task.WhenAll(flows);
        }
    }

    private static async Task FlowAsync(
        NetworkStream from, NetworkStream to, Func<bool> holds, Action<Memory<byte>> pass, CancellationToken end)
    {
        byte[] bytes = new byte[64 << 10];
        try
        {
            while (await from.ReadAsync(bytes, end) is var size and > 0)
            {
                pass(bytes.AsMemory(0, size));
                await Eventually.TrueAsync(() => !holds() || end.IsCancellationRequested);
                await to.WriteAsync(bytes.AsMemory(0, size), end);
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException or ObjectDisposedException)
        {
            // One end has gone.
        }
    }
}
