using System.Buffers.Binary;
using System.Net;
using System.Text.Json;
using EQueue.Load.Limit;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Load.Scenarios;

/// <summary>
/// The server of the remoting runs. Every request begins with its number (u64, little-endian, from 0 on each
/// connection); an answer is that number.
/// </summary>
internal sealed class RemotingServerRole : IRole, IConnectionHandler
{
    private static readonly TimeSpan QuietTime = TimeSpan.FromSeconds(10);

    private readonly RemotingServer _server;
    private long _received;
    private long _misplaced;
    private long _lastReceivedNs;

    public RemotingServerRole() => _server = new RemotingServer(
        new RemotingServerOptions(), this, NullLoggerFactory.Instance);

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "count")
            return await CountAsync(RoleJson.Read<CountOrder>(argument), cancellationToken);
        await _server.StartAsync(cancellationToken);
        return new ListenResult(((IPEndPoint)_server.LocalEndPoint).Port);
    }

    public void OnConnected(FrameConnection connection) => connection.State = new Expected();

    public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        long number = BinaryPrimitives.ReadInt64LittleEndian(payload.Span);
        var expected = (Expected)connection.State!;
        if (number != expected.Next)
            Interlocked.Increment(ref _misplaced);
        expected.Next = number + 1;
        Interlocked.Increment(ref _received);
        if ((header.Flags & FrameFlags.Oneway) != FrameFlags.None)
            return ValueTask.CompletedTask;
        Span<byte> answer = stackalloc byte[sizeof(long)];
        BinaryPrimitives.WriteInt64LittleEndian(answer, number);
        connection.Send(
            answer, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0, inlineAllowed: true);
        return ValueTask.CompletedTask;
    }

    public void OnDisconnected(FrameConnection connection, Exception? cause)
    {
    }

    public ValueTask DisposeAsync() => _server.DisposeAsync();

    private async Task<CountResult> CountAsync(CountOrder order, CancellationToken cancellationToken)
    {
        long received = -1;
        long lastProgress = TimeProvider.System.GetTimestamp();
        while (received < order.Total && TimeProvider.System.GetElapsedTime(lastProgress) < QuietTime)
        {
            long now = Interlocked.Read(ref _received);
            if (now != received)
            {
                lastProgress = TimeProvider.System.GetTimestamp();
                Volatile.Write(ref _lastReceivedNs, Clock.NowNs);
            }

            received = now;
            if (received < order.Total)
                await Task.Delay(1, cancellationToken);
        }

        return new CountResult(received, Interlocked.Read(ref _misplaced), _lastReceivedNs, ProcessFigures.Take());
    }

    /// <summary>What comes next on a connection. Touched by its receive loop alone.</summary>
    private sealed class Expected
    {
        public long Next { get; set; }
    }
}
