using System.Net.Sockets;
using System.Threading.Channels;

namespace EQueue.Client.Tests.Network;

/// <summary>One direction of a connection: takes what comes, gives it on as the faults allow.</summary>
internal sealed class FaultFlow(Socket from, Socket to, string name, FlowFaults faults, FaultProxy proxy, FaultLink link)
{
    private const int ShapedBytes = 4 * 1024;

    private readonly Channel<byte[]> _taken = Channel.CreateUnbounded<byte[]>();
    private readonly FrameMeter _meter = new();
    private readonly Random _random = new(faults.Seed);
    private bool _isDone = faults.Kind == FaultKind.None;
    private volatile bool _isReset;

    public Task RunAsync() => Task.WhenAll(Task.Run(TakeAsync), Task.Run(GiveAsync));

    private async Task TakeAsync()
    {
        byte[] buffer = new byte[32 * 1024];
        try
        {
            while (await from.ReceiveAsync(buffer) is > 0 and var count)
                _taken.Writer.TryWrite(buffer[..count]);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            _isReset = true;
        }

        _taken.Writer.Complete();
    }

    private async Task GiveAsync()
    {
        try
        {
            await foreach (byte[] bytes in _taken.Reader.ReadAllAsync())
            {
                if (!await GiveAsync(bytes))
                    return;
            }

            if (_isReset)
                link.Reset();
            else
                to.Shutdown(SocketShutdown.Send);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            link.Reset();
        }
    }

    /// <returns>Whether the stream continues.</returns>
    private async Task<bool> GiveAsync(ReadOnlyMemory<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            bool isThere = false;
            _isDone |= proxy.IsMended;
            int count = _isDone ? bytes.Length : _meter.Advance(bytes.Span, faults.Place, out isThere);
            await SendAsync(bytes[..count]);
            bytes = bytes[count..];
            if (!isThere || _isDone)
                continue;
            _isDone = true;
            proxy.Histogram.Count($"fault {name}: {faults.Kind}");
            proxy.Histogram.Count($"place {name}: {faults.Place.Name}");
            if (!await MeetAsync())
                return false;
        }

        return true;
    }

    private async Task SendAsync(ReadOnlyMemory<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            bool isShaped = !proxy.IsMended && _meter.Total <= ShapedBytes;
            ReadOnlyMemory<byte> piece =
                bytes[..Math.Min(bytes.Length, isShaped ? faults.MaxWriteBytes : bytes.Length)];
            if (isShaped && faults.DelayMs > 0 && _random.Next(8) == 0)
                await proxy.HoldAsync(_random.Next(faults.DelayMs + 1));
            bytes = bytes[await to.SendAsync(piece)..];
        }
    }

    private async Task<bool> MeetAsync()
    {
        switch (faults.Kind)
        {
            case FaultKind.Reset:
                link.Reset();
                return false;
            case FaultKind.End:
                to.Shutdown(SocketShutdown.Send);
                from.Shutdown(SocketShutdown.Send);
                return false;
            case FaultKind.HalfEnd:
                to.Shutdown(SocketShutdown.Send);
                return false;
            case FaultKind.BlackHole:
                await proxy.HoldAsync(Timeout.Infinite);
                link.Reset();
                return false;
            default:
                await proxy.HoldAsync(faults.HoldMs);
                return true;
        }
    }
}
