using System.Buffers;
using System.Net;
using System.Net.Sockets;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Load.Scenarios;

/// <summary>
/// A client's connection that has said Hello and then asks for nothing; it answers the broker's keep-alives. A bare
/// socket and a loop, so that many of them fit into a process.
/// </summary>
internal sealed class IdleConnection : IAsyncDisposable
{
    private const int MaxFrameBytes = 1 << 20;

    private readonly Socket _socket;
    private readonly IdleCounts _counts;
    private Task _loop = Task.CompletedTask;
    private volatile bool _isClosing;

    private IdleConnection(Socket socket, IdleCounts counts)
    {
        _socket = socket;
        _counts = counts;
    }

    /// <summary>Connects and says Hello.</summary>
    /// <exception cref="SocketException">There is no such connection to be had.</exception>
    /// <exception cref="EndOfStreamException">The broker closed it.</exception>
    public static async Task<IdleConnection> OpenAsync(
        IPEndPoint broker, IPAddress source, IdleCounts counts, CancellationToken cancellationToken)
    {
        var socket = new Socket(broker.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            socket.Bind(new IPEndPoint(source, 0));
            await socket.ConnectAsync(broker, cancellationToken);
            await SayHelloAsync(socket, cancellationToken);
        }
        catch
        {
            socket.Dispose();
            throw;
        }

        var connection = new IdleConnection(socket, counts);
        connection._loop = connection.RunAsync();
        return connection;
    }

    public async ValueTask DisposeAsync()
    {
        _isClosing = true;
        _socket.Dispose();
        await _loop;
    }

    private static async Task SayHelloAsync(Socket socket, CancellationToken cancellationToken)
    {
        var body = new ArrayBufferWriter<byte>();
        new HelloRequest
        {
            ClientInstanceId = Guid.NewGuid(),
            ClientName = "idle",
            ClientVersion = "EQueue.Load",
            MaxFrameBytes = MaxFrameBytes,
        }.Write(new PayloadWriter(body));
        byte[] frame = new byte[FrameHeader.Size + body.WrittenCount];
        new FrameHeader((uint)frame.Length, (byte)Opcode.Hello, 0, FrameFlags.None, 1, 0).Write(frame);
        body.WrittenSpan.CopyTo(frame.AsSpan(FrameHeader.Size));
        await socket.SendAsync(frame, cancellationToken);

        byte[] head = new byte[FrameHeader.Size];
        await ReceiveAsync(socket, head, cancellationToken);
        if (!FrameHeader.TryRead(head, MaxFrameBytes, out FrameHeader header, out FrameFault fault))
            throw LoadException.Failed($"the broker answered Hello with no frame: {fault}");
        byte[] answer = new byte[header.PayloadBytes];
        await ReceiveAsync(socket, answer, cancellationToken);
        if (header is not { Opcode: (byte)Opcode.Hello, Error: 0, IsResponse: true }
            || !Payload.TryRead<HelloResponse>(answer, out _))
        {
            throw LoadException.Failed($"the broker answered Hello with {header}");
        }
    }

    private async Task RunAsync()
    {
        try
        {
            await AnswerAsync();
            Interlocked.Increment(ref _counts.WrongFrames);
        }
        catch (Exception exception) when (
            exception is SocketException or ObjectDisposedException or EndOfStreamException)
        {
            if (!_isClosing)
                Interlocked.Increment(ref _counts.Lost);
        }
    }

    /// <summary>Answers keep-alives until something else comes.</summary>
    private async Task AnswerAsync()
    {
        byte[] head = new byte[FrameHeader.Size];
        while (true)
        {
            await ReceiveAsync(_socket, head, CancellationToken.None);
            if (!FrameHeader.TryRead(head, FrameHeader.Size, out FrameHeader header, out _)
                || header.Opcode != FrameHeader.PingOpcode || header.IsResponse)
            {
                return;
            }

            (header with { Flags = FrameFlags.Response }).Write(head);
            await _socket.SendAsync(head);
            Interlocked.Increment(ref _counts.Answered);
        }
    }

    private static async Task ReceiveAsync(Socket socket, Memory<byte> wanted, CancellationToken cancellationToken)
    {
        while (!wanted.IsEmpty)
        {
            int received = await socket.ReceiveAsync(wanted, cancellationToken);
            if (received == 0)
                throw new EndOfStreamException("the broker closed the connection");
            wanted = wanted[received..];
        }
    }
}

/// <summary>What happens to the connections of one process. Changed with <see cref="Interlocked"/>.</summary>
internal sealed class IdleCounts
{
    public long Answered;
    public long Lost;
    public long WrongFrames;
}
