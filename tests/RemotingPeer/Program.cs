// A remoting server in a process of its own, for tests that kill it. Usage: EQueue.RemotingPeer HOST:PORT
// Prints "ready HOST:PORT", then serves until its input ends. Opcode 1 echoes; opcode 2 counts oneway frames; opcode
// 3 tells the count.
using System.Buffers.Binary;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

await using var server = new RemotingServer(
    new RemotingServerOptions { Listen = [args[0]] }, new PeerHandler(), NullLoggerFactory.Instance);
await server.StartAsync(CancellationToken.None);
Console.WriteLine($"ready {server.LocalEndPoint}");
await Console.In.ReadToEndAsync();
await server.StopAsync(TimeSpan.FromSeconds(5), CancellationToken.None);

internal sealed class PeerHandler : IConnectionHandler
{
    private long _onewayCount;

    public void OnConnected(FrameConnection connection)
    {
    }

    public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        if (header.IsOneway)
        {
            Interlocked.Increment(ref _onewayCount);
            return ValueTask.CompletedTask;
        }

        var answer = FrameBuffer.Rent(payload.Length);
        if (header.Opcode == 3)
            BinaryPrimitives.WriteInt64LittleEndian(answer.Reserve(sizeof(long)), Volatile.Read(ref _onewayCount));
        else
            payload.Span.CopyTo(answer.Reserve(payload.Length));
        connection.Send(
            answer, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0, inlineAllowed: true);
        return ValueTask.CompletedTask;
    }

    public void OnDisconnected(FrameConnection connection, Exception? cause)
    {
    }
}
