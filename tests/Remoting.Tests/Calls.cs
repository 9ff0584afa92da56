using System.Net.Sockets;

namespace EQueue.Remoting.Tests;

/// <summary>Short forms for requests with known content.</summary>
internal static class Calls
{
    public static readonly TimeSpan Timeout = TimeSpan.FromSeconds(30);

    public static byte[] Content(int seed, int bytes)
    {
        byte[] content = new byte[bytes];
        new Random(seed).NextBytes(content);
        return content;
    }

    public static FrameBuffer Buffer(ReadOnlySpan<byte> payload)
    {
        var buffer = FrameBuffer.Rent(payload.Length);
        payload.CopyTo(buffer.Reserve(payload.Length));
        return buffer;
    }

    public static byte[] Frame(byte opcode, FrameFlags flags, uint correlationId, ReadOnlySpan<byte> payload)
    {
        byte[] frame = new byte[FrameHeader.Size + payload.Length];
        new FrameHeader((uint)frame.Length, opcode, 1, flags, correlationId, 0).Write(frame);
        payload.CopyTo(frame.AsSpan(FrameHeader.Size));
        return frame;
    }

    public static async Task<byte[]> EchoAsync(this RemotingClient client, byte[] payload, byte opcode = ScriptedHandler.Echo)
    {
        using ResponseFrame response =
            await client.InvokeAsync(Buffer(payload), opcode, 1, Timeout, CancellationToken.None);
        return response.Payload.ToArray();
    }

    public static async Task<RemotingError> ErrorOfAsync(this ValueTask<ResponseFrame> call)
    {
        RemotingException exception = await Assert.ThrowsAsync<RemotingException>(async () =>
        {
            using ResponseFrame response = await call;
        });
        return exception.Error;
    }

    /// <summary>Reads until the peer ends the stream or resets it; the bytes that came.</summary>
    public static async Task<byte[]> ReadToEndAsync(this Socket socket)
    {
        using var all = new MemoryStream();
        byte[] buffer = new byte[64 * 1024];
        try
        {
            while (await socket.ReceiveAsync(buffer.AsMemory()).AsTask().WaitAsync(Timeout) is > 0 and int count)
                all.Write(buffer, 0, count);
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.ConnectionReset)
        {
            // A reset ends the stream as well.
        }

        return all.ToArray();
    }
}
