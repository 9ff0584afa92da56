using System.Buffers;
using System.Net;
using System.Net.Sockets;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.System.Tests.Bounds;

/// <summary>A peer that sends and takes nothing of what it is answered.</summary>
internal sealed class BoundPeer : IDisposable
{
    private const int MaxFrameBytes = 16 << 20;

    private readonly Socket _socket = new(SocketType.Stream, ProtocolType.Tcp) { ReceiveBufferSize = 16 << 10 };

    public static byte[] Frame(Opcode opcode, ReadOnlySpan<byte> body)
    {
        byte[] frame = new byte[FrameHeader.Size + body.Length];
        new FrameHeader((uint)frame.Length, (byte)opcode, 0, FrameFlags.None, 7, 0).Write(frame);
        body.CopyTo(frame.AsSpan(FrameHeader.Size));
        return frame;
    }

    public static byte[] Hello(string name, string version = "1")
    {
        var body = new ArrayBufferWriter<byte>();
        new HelloRequest
        {
            ClientInstanceId = Guid.NewGuid(),
            ClientName = name,
            ClientVersion = version,
            MaxFrameBytes = MaxFrameBytes,
        }.Write(new PayloadWriter(body));
        return Frame(Opcode.Hello, body.WrittenSpan);
    }

    /// <summary>Connects and sends one frame after the other, each when the one before is answered.</summary>
    /// <returns>What each was answered.</returns>
    public async Task<ErrorCode[]> AskAsync(
        string address, IReadOnlyList<byte[]> frames, CancellationToken cancellationToken)
    {
        await _socket.ConnectAsync(IPEndPoint.Parse(address), cancellationToken);
        await using var stream = new NetworkStream(_socket);
        var answers = new ErrorCode[frames.Count];
        for (int i = 0; i < answers.Length; i++)
        {
            await stream.WriteAsync(frames[i], cancellationToken);
            answers[i] = await ReadAsync(stream, cancellationToken);
        }

        return answers;
    }

    /// <summary>Connects and sends; then holds the connection, reading nothing.</summary>
    /// <param name="address">HOST:PORT.</param>
    /// <param name="pieces">What is sent, as far as the server reads it.</param>
    /// <param name="hold">How long in all.</param>
    /// <param name="cancellationToken">Ends it sooner.</param>
    public async Task RunAsync(
        string address, IEnumerable<byte[]> pieces, TimeSpan hold, CancellationToken cancellationToken)
    {
        using var end = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        end.CancelAfter(hold);
        try
        {
            await _socket.ConnectAsync(IPEndPoint.Parse(address), end.Token);
            foreach (byte[] piece in pieces)
            {
                for (int sent = 0; sent < piece.Length;)
                    sent += await _socket.SendAsync(piece.AsMemory(sent), end.Token);
            }

            // Holds the connection and reads nothing until its time is over.
            await new TaskCompletionSource().Task.WaitAsync(end.Token);
        }
        catch (Exception exception) when (exception is OperationCanceledException or SocketException)
        {
            // Its time is over, or the server has cut it.
        }
    }

    public void Dispose() => _socket.Dispose();

    private static async Task<ErrorCode> ReadAsync(NetworkStream stream, CancellationToken cancellationToken)
    {
        byte[] head = new byte[FrameHeader.Size];
        while (true)
        {
            await stream.ReadExactlyAsync(head, cancellationToken);
            Assert.True(FrameHeader.TryRead(head, MaxFrameBytes, out FrameHeader header, out _));
            byte[] payload = new byte[header.PayloadBytes];
            await stream.ReadExactlyAsync(payload, cancellationToken);
            if (header.Opcode != FrameHeader.PingOpcode)
                return BoundAnswers.CodeOf(header, payload);
        }
    }
}
