using System.Buffers.Binary;
using System.Net.Sockets;
using System.Text.Json;
using EQueue.Load.Limit;
using EQueue.Load.Roles;
using EQueue.Load.Sending;

namespace EQueue.Load.Sockets;

/// <summary>
/// The other end of the bare sockets. A connection begins with the sizes of its messages and answers (two u32,
/// little-endian). Answer size 0: everything is counted, and the count (u64) is told when the peer has sent all.
/// </summary>
internal sealed class SocketServerRole : IRole
{
    private const int BufferSize = 1 << 20;

    private readonly Socket _listener = LimitSockets.Listen();
    private Task? _loop;

    public Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        _loop ??= BlockingLoop.RunAsync(AcceptAll);
        return Task.FromResult<object?>(LimitSockets.PortOf(_listener));
    }

    public async ValueTask DisposeAsync()
    {
        _listener.Dispose();
        if (_loop is not null)
            await _loop;
    }

    private void AcceptAll()
    {
        while (true)
        {
            try
            {
                using Socket socket = _listener.Accept();
                socket.NoDelay = true;
                Serve(socket);
            }
            catch (SocketException) when (!_listener.IsBound || _listener.SafeHandle.IsClosed)
            {
                return;
            }
            catch (ObjectDisposedException)
            {
                return;
            }
        }
    }

    private static void Serve(Socket socket)
    {
        byte[] buffer = new byte[BufferSize];
        if (Receive(socket, buffer, 0, 8) < 8)
            return;
        int size = BinaryPrimitives.ReadInt32LittleEndian(buffer);
        int replySize = BinaryPrimitives.ReadInt32LittleEndian(buffer.AsSpan(4));
        if (replySize == 0)
            Count(socket, buffer);
        else
            Answer(socket, buffer, size, replySize);
    }

    private static void Count(Socket socket, byte[] buffer)
    {
        long bytes = 0;
        int received;
        while ((received = socket.Receive(buffer)) > 0)
            bytes += received;
        BinaryPrimitives.WriteInt64LittleEndian(buffer, bytes);
        socket.Send(buffer.AsSpan(0, 8));
    }

    private static void Answer(Socket socket, byte[] buffer, int size, int replySize)
    {
        if (size > buffer.Length)
            buffer = new byte[size];
        byte[] replies = new byte[Math.Max(1, buffer.Length / size) * replySize];
        int filled = 0;
        int received;
        while ((received = socket.Receive(buffer.AsSpan(filled))) > 0)
        {
            filled += received;
            int count = filled / size;
            for (int i = 0; i < count; i++)
                buffer.AsSpan(i * size, replySize).CopyTo(replies.AsSpan(i * replySize));
            if (count > 0)
                socket.Send(replies.AsSpan(0, count * replySize));
            filled -= count * size;
            buffer.AsSpan(count * size, filled).CopyTo(buffer);
        }
    }

    private static int Receive(Socket socket, byte[] buffer, int offset, int wanted)
    {
        int filled = 0;
        while (filled < wanted)
        {
            int received = socket.Receive(buffer.AsSpan(offset + filled, wanted - filled));
            if (received == 0)
                break;
            filled += received;
        }

        return filled;
    }
}
