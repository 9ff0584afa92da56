using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text.Json;
using EQueue.Load.Roles;
using Microsoft.Win32.SafeHandles;

namespace EQueue.Load.Limit;

/// <summary>Sends blocks of bytes as fast as the socket takes them.</summary>
internal sealed class LimitProducerRole : IRole
{
    public Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        LimitOrder order = RoleJson.Read<LimitOrder>(argument);
        return Task.Run<object?>(() => Run(order), cancellationToken);
    }

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;

    private static LimitResult Run(LimitOrder order)
    {
        using Socket socket = LimitSockets.Connect(order.Port);
        byte[] block = new byte[order.BlockSize];
        var clock = Stopwatch.StartNew();
        for (long sent = 0; sent < order.TotalBytes;)
            sent += socket.Send(block.AsSpan(0, (int)Math.Min(order.BlockSize, order.TotalBytes - sent)));
        return new LimitResult(order.TotalBytes, clock.Elapsed.TotalSeconds, 0);
    }
}

/// <summary>
/// Receives blocks, writes each to a growing file and sends it on out of the page cache; another thread makes the file
/// durable every 100 ms.
/// </summary>
internal sealed class LimitBrokerRole : IRole
{
    private const int FlushIntervalMs = 100;

    private readonly Socket _listener = LimitSockets.Listen();

    public Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "listen")
            return Task.FromResult<object?>(LimitSockets.PortOf(_listener));
        LimitOrder order = RoleJson.Read<LimitOrder>(argument);
        return Task.Run<object?>(() => Run(order), cancellationToken);
    }

    public ValueTask DisposeAsync()
    {
        _listener.Dispose();
        return ValueTask.CompletedTask;
    }

    private LimitResult Run(LimitOrder order)
    {
        using Socket outgoing = LimitSockets.Connect(order.Port);
        using Socket incoming = _listener.Accept();
        using SafeFileHandle file = File.OpenHandle(order.File!, FileMode.CreateNew, FileAccess.ReadWrite);
        using var done = new ManualResetEvent(false);
        long flushes = 0;
        var flusher = new Thread(() =>
        {
            while (!done.WaitOne(FlushIntervalMs))
            {
                LinuxCalls.FlushToDisk(file);
                flushes++;
            }
        });
        flusher.Start();
        var clock = Stopwatch.StartNew();
        byte[] block = new byte[order.BlockSize];
        long written = 0;
        while (written < order.TotalBytes)
        {
            int filled = Fill(incoming, block, order.TotalBytes - written);
            RandomAccess.Write(file, block.AsSpan(0, filled), written);
            LinuxCalls.SendFile(outgoing.SafeHandle, file, ref written, filled);
        }

        done.Set();
        flusher.Join();
        outgoing.Shutdown(SocketShutdown.Send);
        return new LimitResult(written, clock.Elapsed.TotalSeconds, flushes);
    }

    private static int Fill(Socket socket, byte[] block, long remaining)
    {
        int wanted = (int)Math.Min(block.Length, remaining);
        int filled = 0;
        while (filled < wanted)
        {
            int received = socket.Receive(block.AsSpan(filled, wanted - filled));
            if (received == 0)
                throw LoadException.Failed($"the limit's producer closed after {filled} of {wanted} bytes of a block");
            filled += received;
        }

        return filled;
    }
}

/// <summary>Receives and counts; the rate is taken here, from the first byte to the last.</summary>
internal sealed class LimitConsumerRole : IRole
{
    private readonly Socket _listener = LimitSockets.Listen();

    public Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "listen")
            return Task.FromResult<object?>(LimitSockets.PortOf(_listener));
        LimitOrder order = RoleJson.Read<LimitOrder>(argument);
        return Task.Run<object?>(() => Run(order), cancellationToken);
    }

    public ValueTask DisposeAsync()
    {
        _listener.Dispose();
        return ValueTask.CompletedTask;
    }

    private LimitResult Run(LimitOrder order)
    {
        using Socket socket = _listener.Accept();
        byte[] block = new byte[order.BlockSize];
        long bytes = 0, start = 0;
        int received;
        while ((received = socket.Receive(block)) > 0)
        {
            if (start == 0)
                start = Stopwatch.GetTimestamp();
            bytes += received;
        }

        return bytes == order.TotalBytes
            ? new LimitResult(bytes, Stopwatch.GetElapsedTime(start).TotalSeconds, 0)
            : throw LoadException.Failed($"the limit's consumer got {bytes} of {order.TotalBytes} bytes");
    }
}

/// <summary>Blocking loopback sockets as the yardsticks use them.</summary>
internal static class LimitSockets
{
    public static Socket Listen()
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        socket.Listen(4);
        return socket;
    }

    public static Socket Connect(int port)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        socket.Connect(new IPEndPoint(IPAddress.Loopback, port));
        return socket;
    }

    public static ListenResult PortOf(Socket listener) => new(((IPEndPoint)listener.LocalEndPoint!).Port);
}
