using System.Buffers;
using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Text;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Support.Logins;

/// <summary>Many who log in at a broker, each over a connection of its own, at a rate.</summary>
public static class LoginStorm
{
    private const int Peers = 48;
    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(10);

    /// <summary>Logs in as often as the rate says, as far as the machine manages.</summary>
    /// <param name="broker">Where.</param>
    /// <param name="logins">By turns.</param>
    /// <param name="perSecond">How many.</param>
    /// <param name="time">For how long.</param>
    /// <returns>How often each answer came; ConnectionLost: none did.</returns>
    public static async Task<IReadOnlyDictionary<ErrorCode, int>> RunAsync(
        EndPoint broker, StormLogin[] logins, int perSecond, TimeSpan time)
    {
        var answers = new ConcurrentDictionary<ErrorCode, int>();
        using var due = new SemaphoreSlim(0);
        using var over = new CancellationTokenSource();
        int next = 0;
        Task[] peers = [.. Enumerable.Range(0, Peers).Select(_ => Task.Run(async () =>
        {
            while (await IsDueAsync(due, over.Token))
            {
                StormLogin login = logins[Interlocked.Increment(ref next) % logins.Length];
                answers.AddOrUpdate(await LogInAsync(broker, login), 1, static (_, count) => count + 1);
            }
        }))];
        using (var pace = new PeriodicTimer(Tick))
        {
            for (TimeSpan passed = TimeSpan.Zero; passed < time; passed += Tick)
            {
                await pace.WaitForNextTickAsync(CancellationToken.None);
                if (due.CurrentCount < perSecond)
                    due.Release((int)(perSecond * Tick.TotalSeconds));
            }
        }

        await over.CancelAsync();
        await Task.WhenAll(peers);
        return answers;
    }

    private static async Task<bool> IsDueAsync(SemaphoreSlim due, CancellationToken over)
    {
        try
        {
            await due.WaitAsync(over);
            return true;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }

    private static async Task<ErrorCode> LogInAsync(EndPoint broker, StormLogin login)
    {
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(broker);
            string first = login.NewFirst();
            (ErrorCode refused, byte[] challenge) = await SayAsync(socket, $"n,,{first}");
            if (refused != ErrorCode.None || !Payload.TryRead(challenge, out AuthenticatedHello asked))
                return refused;
            string serverFirst = Encoding.UTF8.GetString(asked.Challenge.Span);
            return (await SayAsync(socket, login.Final(first, serverFirst))).Error;
        }
        catch (SocketException)
        {
            return ErrorCode.ConnectionLost;
        }
    }

    private static async Task<(ErrorCode Error, byte[] Payload)> SayAsync(Socket socket, string message)
    {
        var body = new ArrayBufferWriter<byte>();
        new HelloRequest
        {
            ClientInstanceId = Guid.NewGuid(),
            ClientName = "storm",
            ClientVersion = "1",
            MaxFrameBytes = 16 << 20,
            Mechanism = Mechanisms.ScramSha256,
            Credentials = Encoding.UTF8.GetBytes(message),
        }.Write(new PayloadWriter(body));
        byte[] frame = new byte[FrameHeader.Size + body.WrittenCount];
        new FrameHeader((uint)frame.Length, (byte)Opcode.Hello, 1, FrameFlags.None, 7, 0).Write(frame);
        body.WrittenSpan.CopyTo(frame.AsSpan(FrameHeader.Size));
        await socket.SendAsync(frame);

        byte[] head = new byte[FrameHeader.Size];
        while (await FillAsync(socket, head) && FrameHeader.TryRead(head, 1 << 20, out FrameHeader header, out _))
        {
            byte[] payload = new byte[header.PayloadBytes];
            if (!await FillAsync(socket, payload))
                break;
            if (header.Opcode == (byte)Opcode.Hello)
                return ((ErrorCode)header.Error, payload);
        }

        return (ErrorCode.ConnectionLost, []);
    }

    private static async Task<bool> FillAsync(Socket socket, Memory<byte> room)
    {
        while (!room.IsEmpty)
        {
            int count = await socket.ReceiveAsync(room);
            if (count == 0)
                return false;
            room = room[count..];
        }

        return true;
    }
}
