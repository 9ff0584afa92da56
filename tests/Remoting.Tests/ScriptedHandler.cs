using System.Collections.Concurrent;

namespace EQueue.Remoting.Tests;

/// <summary>A handler that a test can steer: echoes, holds answers back, counts, or does what it is told.</summary>
internal sealed class ScriptedHandler : IConnectionHandler
{
    /// <summary>Answered at once with its own payload.</summary>
    public const byte Echo = 1;

    /// <summary>Kept until <see cref="Release"/>.</summary>
    public const byte Hold = 2;

    /// <summary>Handled by <see cref="OnCustom"/>.</summary>
    public const byte Custom = 3;

    private readonly ConcurrentQueue<Held> _held = new();
    private int _frameCount;

    public ConcurrentQueue<FrameConnection> Connected { get; } = new();

    public ConcurrentQueue<(long Id, Exception? Cause)> Disconnected { get; } = new();

    public ConcurrentQueue<byte[]> Oneways { get; } = new();

    public Func<FrameConnection, FrameHeader, ReadOnlyMemory<byte>, ValueTask>? OnCustom { get; init; }

    public int FrameCount => Volatile.Read(ref _frameCount);

    public int HeldCount => _held.Count;

    /// <summary>Every other answer is copied from a span, the others are frames.</summary>
    public static void Answer(FrameConnection connection, FrameHeader header, ReadOnlySpan<byte> payload, bool inline)
    {
        if (header.CorrelationId % 2 == 0)
        {
            connection.Send(payload, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0, inline);
            return;
        }

        var answer = FrameBuffer.Rent(payload.Length);
        payload.CopyTo(answer.Reserve(payload.Length));
        connection.Send(answer, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0, inline);
    }

    public void OnConnected(FrameConnection connection) => Connected.Enqueue(connection);

    public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        Interlocked.Increment(ref _frameCount);
        if (header.IsOneway)
            Oneways.Enqueue(payload.ToArray());
        else if (header.Opcode == Echo)
            Answer(connection, header, payload.Span, inline: true);
        else if (header.Opcode == Hold)
            _held.Enqueue(new Held(connection, header, payload.ToArray()));
        else if (OnCustom is not null)
            return OnCustom(connection, header, payload);
        return ValueTask.CompletedTask;
    }

    public void OnDisconnected(FrameConnection connection, Exception? cause) =>
        Disconnected.Enqueue((connection.Id, cause));

    /// <summary>Answers what is held, newest first: out of order on purpose.</summary>
    public void Release()
    {
        var newestFirst = new Stack<Held>();
        while (_held.TryDequeue(out Held? held))
            newestFirst.Push(held);
        foreach (Held held in newestFirst)
            Answer(held.Connection, held.Header, held.Payload, inline: false);
    }

    private sealed record Held(FrameConnection Connection, FrameHeader Header, byte[] Payload);
}
