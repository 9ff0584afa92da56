using System.Net;
using System.Net.Sockets;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker.Tests;

/// <summary>A bare socket, for bytes that a client would never send.</summary>
internal sealed class RawConnection : IDisposable
{
    private readonly Socket _socket = new(SocketType.Stream, ProtocolType.Tcp);

    public static async Task<RawConnection> ConnectAsync(EndPoint endPoint)
    {
        var connection = new RawConnection();
        await connection._socket.ConnectAsync(endPoint);
        return connection;
    }

    public static byte[] Frame(
        Opcode opcode, ReadOnlySpan<byte> body, ushort flags = 0, uint correlation = 7, byte version = 0)
    {
        byte[] frame = new byte[FrameHeader.Size + body.Length];
        new FrameHeader((uint)frame.Length, (byte)opcode, version, (FrameFlags)flags, correlation, 0).Write(frame);
        body.CopyTo(frame.AsSpan(FrameHeader.Size));
        return frame;
    }

    public async Task SayHelloAsync()
    {
        await SendAsync(Frame(Opcode.Hello, TestPeer.Encode(TestPeer.NewHello("raw")).WrittenSpan));
        Assert.Equal(ErrorCode.None, (await ReceiveAsync()).Error);
    }

    public async Task SendAsync(byte[] bytes)
    {
        using var timeout = new CancellationTokenSource(TestPeer.Patience);
        await _socket.SendAsync(bytes, timeout.Token);
    }

    public void EndSending() => _socket.Shutdown(SocketShutdown.Send);

    /// <summary>The next frame that is not a keep-alive.</summary>
    public async Task<(Opcode Opcode, ErrorCode Error)> ReceiveAsync()
    {
        FrameHeader? header = await ReceiveHeaderAsync();
        Assert.True(header is not null, "The connection ended.");
        return ((Opcode)header.Value.Opcode, (ErrorCode)header.Value.Error);
    }

    /// <summary>The header of the next frame that is not a keep-alive; null when the connection ended.</summary>
    public async Task<FrameHeader?> ReceiveHeaderAsync() => (await ReceiveFrameAsync())?.Header;

    /// <summary>The next frame that is not a keep-alive; null when the connection ended.</summary>
    public async Task<(FrameHeader Header, byte[] Payload)?> ReceiveFrameAsync()
    {
        byte[] head = new byte[FrameHeader.Size];
        while (await FillAsync(head))
        {
            Assert.True(FrameHeader.TryRead(head, 16 << 20, out FrameHeader header, out _));
            byte[] payload = new byte[header.PayloadBytes];
            if (!await FillAsync(payload))
                return null;
            if (header.Opcode != 0)
                return (header, payload);
        }

        return null;
    }

    /// <summary>Whether the broker ends the connection without another byte.</summary>
    public async Task<bool> IsEndedByBrokerAsync() => !await FillAsync(new byte[1]);

    public void Dispose() => _socket.Dispose();

    private async Task<bool> FillAsync(Memory<byte> buffer)
    {
        using var timeout = new CancellationTokenSource(TestPeer.Patience);
        try
        {
            while (!buffer.IsEmpty)
            {
                int received = await _socket.ReceiveAsync(buffer, timeout.Token);
                if (received == 0)
                    return false;
                buffer = buffer[received..];
            }

            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
