using System.Buffers.Binary;
using System.Net.Sockets;
using System.Text.Json;
using EQueue.Load.Limit;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;
using EQueue.Load.Sending;

namespace EQueue.Load.Sockets;

/// <summary>
/// Measures bare sockets: <c>echo</c> with an <see cref="EchoOrder"/>, <c>stream</c> with a <see cref="StreamOrder"/>.
/// </summary>
internal sealed class SocketClientRole : IRole
{
    private const int StreamBlockSize = 256 * 1024;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "stream")
            return await Task.Run(() => Stream(RoleJson.Read<StreamOrder>(argument)), cancellationToken);
        EchoOrder order = RoleJson.Read<EchoOrder>(argument);
        return order.Rate is { } rate
            ? await EchoPacedAsync(order, rate)
            : await Task.Run(() => EchoInTurn(order), cancellationToken);
    }

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;

    private static StreamResult Stream(StreamOrder order)
    {
        using Socket socket = Open(order.Port, StreamBlockSize, 0);
        byte[] block = new byte[StreamBlockSize];
        long startNs = Clock.NowNs;
        long endNs = startNs + (long)(order.Seconds * 1e9);
        long sent = 0;
        while (Clock.NowNs < endNs)
            sent += socket.Send(block);
        socket.Shutdown(SocketShutdown.Send);
        ReceiveAll(socket, block.AsSpan(0, 8));
        double seconds = (Clock.NowNs - startNs) / 1e9;
        long counted = BinaryPrimitives.ReadInt64LittleEndian(block);
        return counted == sent
            ? new StreamResult(sent / seconds / 1e6)
            : throw LoadException.Failed($"the socket carried {counted} of {sent} bytes");
    }

    private static EchoResult EchoInTurn(EchoOrder order)
    {
        int replySize = order.ReplySize == 0 ? order.Size : order.ReplySize;
        using Socket socket = Open(order.Port, order.Size, replySize);
        byte[] message = new byte[order.Size];
        var histogram = new LatencyHistogram();
        long measureNs = Clock.NowNs + (long)(order.Warmup * 1e9);
        long endNs = measureNs + (long)(order.Seconds * 1e9);
        for (long startNs = Clock.NowNs; startNs < endNs;)
        {
            socket.Send(message);
            ReceiveAll(socket, message.AsSpan(0, replySize));
            long nowNs = Clock.NowNs;
            if (startNs >= measureNs)
                histogram.Record(nowNs - startNs);
            startNs = nowNs;
        }

        return ToResult(histogram, order.Seconds);
    }

    /// <summary>One thread sends when due, another takes the answers, which carry the due times back.</summary>
    private static async Task<EchoResult> EchoPacedAsync(EchoOrder order, int rate)
    {
        using Socket socket = Open(order.Port, order.Size, order.Size);
        var histogram = new LatencyHistogram();
        long measureNs = Clock.NowNs + (long)(order.Warmup * 1e9);
        Task receiving = BlockingLoop.RunAsync(() => TakeAnswers(socket, order.Size, measureNs, histogram));
        await BlockingLoop.RunAsync(() =>
        {
            byte[] message = new byte[order.Size];
            var pacer = new Pacer(rate, order.Warmup + order.Seconds);
            while (pacer.WaitForNext(out long dueNs))
            {
                BinaryPrimitives.WriteInt64LittleEndian(message, dueNs);
                socket.Send(message);
            }

            socket.Shutdown(SocketShutdown.Send);
        });
        await receiving;
        return ToResult(histogram, order.Seconds);
    }

    private static void TakeAnswers(Socket socket, int size, long measureNs, LatencyHistogram histogram)
    {
        byte[] buffer = new byte[Math.Max(size, 64 * 1024)];
        int filled = 0;
        int received;
        while ((received = socket.Receive(buffer.AsSpan(filled))) > 0)
        {
            filled += received;
            long nowNs = Clock.NowNs;
            int start = 0;
            for (; filled - start >= size; start += size)
            {
                long dueNs = BinaryPrimitives.ReadInt64LittleEndian(buffer.AsSpan(start));
                if (dueNs >= measureNs)
                    histogram.Record(nowNs - dueNs);
            }

            filled -= start;
            buffer.AsSpan(start, filled).CopyTo(buffer);
        }
    }

    private static EchoResult ToResult(LatencyHistogram histogram, double seconds) => new(
        histogram.PercentileNs(50) / 1000.0, histogram.PercentileNs(99) / 1000.0, histogram.Count / seconds);

    private static Socket Open(int port, int size, int replySize)
    {
        Socket socket = LimitSockets.Connect(port);
        Span<byte> sizes = stackalloc byte[8];
        BinaryPrimitives.WriteInt32LittleEndian(sizes, size);
        BinaryPrimitives.WriteInt32LittleEndian(sizes[4..], replySize);
        socket.Send(sizes);
        return socket;
    }

    private static void ReceiveAll(Socket socket, Span<byte> wanted)
    {
        while (!wanted.IsEmpty)
        {
            int received = socket.Receive(wanted);
            if (received == 0)
                throw LoadException.Failed("the other end of a bare socket closed early");
            wanted = wanted[received..];
        }
    }
}
