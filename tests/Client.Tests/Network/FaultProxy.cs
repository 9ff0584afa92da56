using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;

namespace EQueue.Client.Tests.Network;

/// <summary>
/// A hostile network between a client and a broker, down to single bytes; from <see cref="Mend"/> on a good one.
/// </summary>
/// <remarks>Each has an address of its own in 127/8, so that no other program takes its port while it
/// refuses.</remarks>
internal sealed class FaultProxy : IAsyncDisposable
{
    private static int _lastAddress;

    private readonly EndPoint _broker;
    private readonly FaultPlan _plan;
    private readonly SemaphoreSlim _mended = new(0);
    private readonly CancellationTokenSource _stopping = new();
    private readonly ConcurrentDictionary<FaultLink, Task> _links = new();
    private readonly Task _accepting;
    private readonly IPEndPoint _endPoint;
    private volatile bool _isMended;

    public FaultProxy(EndPoint broker, int seed, Histogram histogram)
    {
        _broker = broker;
        _plan = new FaultPlan(seed);
        Histogram = histogram;
        int number = Interlocked.Increment(ref _lastAddress);
        IPAddress address = OperatingSystem.IsMacOS()
            ? IPAddress.Loopback
            : new IPAddress([127, (byte)(1 + (number >> 16)), (byte)(number >> 8), (byte)number]);
        _endPoint = new IPEndPoint(address, 0);
        Socket listener = Listen();
        _endPoint = (IPEndPoint)listener.LocalEndPoint!;
        _accepting = Task.Run(() => AcceptAsync(listener));
    }

    public string Address => _endPoint.ToString();

    public Histogram Histogram { get; }

    public bool IsMended => _isMended;

    /// <summary>No more faults: what is held is delivered, what is in a black hole is reset.</summary>
    public void Mend()
    {
        _isMended = true;
        _mended.Release(int.MaxValue / 2);
    }

    /// <summary>Waits for so long, or until the network is mended.</summary>
    public Task HoldAsync(int milliseconds) => _mended.WaitAsync(milliseconds);

    public async ValueTask DisposeAsync()
    {
        if (!_isMended)
            Mend();
        await _stopping.CancelAsync();
        await _accepting;
        foreach (FaultLink link in _links.Keys)
            link.Reset();
        await Task.WhenAll(_links.Values);
        _stopping.Dispose();
    }

    private Socket Listen()
    {
        var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(_endPoint);
        listener.Listen(100);
        return listener;
    }

    private async Task AcceptAsync(Socket listener)
    {
        try
        {
            for (int number = 0; !_stopping.IsCancellationRequested; number++)
            {
                int refusalMs = _plan.RefusalMs(number, out bool isSilent);
                if (refusalMs > 0 && !_isMended)
                    listener = await RefuseAsync(listener, refusalMs, isSilent);
                Carry(await listener.AcceptAsync(_stopping.Token), number);
            }
        }
        catch (OperationCanceledException)
        {
            // Disposed.
        }
        finally
        {
            listener.Dispose();
        }
    }

    private async Task<Socket> RefuseAsync(Socket listener, int refusalMs, bool isSilent)
    {
        Histogram.Count(isSilent ? "refusal: silent" : "refusal: closed");
        if (!isSilent)
            listener.Dispose();
        await HoldAsync(refusalMs);
        return isSilent ? listener : Listen();
    }

    private void Carry(Socket near, int number)
    {
        Histogram.Count("connections");
        var link = new FaultLink(near, this);
        _links[link] = CarryAsync(link, number);
    }

    private async Task CarryAsync(FaultLink link, int number)
    {
        (FlowFaults there, FlowFaults back) = _plan.Connection(number);
        await link.RunAsync(_broker, there, back);
        _links.TryRemove(link, out _);
    }
}
