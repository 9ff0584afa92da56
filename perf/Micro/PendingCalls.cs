using BenchmarkDotNet.Attributes;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Micro;

/// <summary>
/// Cost of a call with a thousand of them in flight, each with its place in the ring of pending calls, between a client
/// and a server of this process without a socket. Allocated counts both.
/// </summary>
[MemoryDiagnoser]
public class PendingCalls : IAsyncDisposable
{
    private const int Calls = 1000;
    private const byte Opcode = 1;
    private const byte Version = 1;
    private const int BodySize = 16;

    private readonly byte[] _body = Sample.Bytes(BodySize);
    private readonly ValueTask<ResponseFrame>[] _calls = new ValueTask<ResponseFrame>[Calls];
    private readonly Echo _echo = new();
    private RemotingServer? _server;
    private RemotingClient? _client;

    /// <summary>Connects.</summary>
    [GlobalSetup]
    public async Task PrepareAsync()
    {
        var place = new InMemoryEndPoint();
        var options = new RemotingServerOptions { Listen = [], InMemory = place };
        _server = new RemotingServer(options, _echo, NullLoggerFactory.Instance);
        await _server.StartAsync(CancellationToken.None);
        _client = new RemotingClient(place, new RemotingClientOptions(), NullLoggerFactory.Instance);
        await _client.WaitConnectedAsync(CancellationToken.None);
    }

    /// <summary>Disconnects.</summary>
    [GlobalCleanup]
    public async ValueTask DisposeAsync()
    {
        await _client!.DisposeAsync();
        await _server!.DisposeAsync();
        GC.SuppressFinalize(this);
    }

    /// <summary>The same frames without answers, so that none is pending.</summary>
    [Benchmark(Baseline = true, OperationsPerInvoke = Calls)]
    public async Task Oneway_1000()
    {
        long wanted = _echo.Received + Calls;
        for (int i = 0; i < Calls; i++)
            await _client!.SendOnewayAsync(NewRequest(), Opcode, Version, CancellationToken.None);
        var spin = new SpinWait();
        while (_echo.Received < wanted)
            spin.SpinOnce();
    }

    [Benchmark(OperationsPerInvoke = Calls)]
    public async Task InvokeAsync_1000InFlight()
    {
        for (int i = 0; i < Calls; i++)
        {
            ValueTask<ResponseFrame> call = _client!.InvokeAsync(
                NewRequest(), Opcode, Version, TimeSpan.Zero, CancellationToken.None);
            _calls[i] = call;
        }

        for (int i = 0; i < Calls; i++)
            (await _calls[i]).Dispose();
    }

    [Benchmark(OperationsPerInvoke = Calls)]
    public async Task InvokeAsync_InTurn()
    {
        for (int i = 0; i < Calls; i++)
        {
            ValueTask<ResponseFrame> call = _client!.InvokeAsync(
                NewRequest(), Opcode, Version, TimeSpan.Zero, CancellationToken.None);
            (await call).Dispose();
        }
    }

    private FrameBuffer NewRequest()
    {
        var request = FrameBuffer.Rent(BodySize);
        _body.CopyTo(request.Reserve(BodySize));
        return request;
    }

    /// <summary>Counts requests, and answers those that want it with nothing.</summary>
    private sealed class Echo : IConnectionHandler
    {
        private long _received;

        public long Received => Volatile.Read(ref _received);

        public void OnConnected(FrameConnection connection)
        {
            // Nothing is kept of a connection.
        }

        public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
        {
            Volatile.Write(ref _received, _received + 1);
            if ((header.Flags & FrameFlags.Oneway) == FrameFlags.None)
            {
                connection.Send(
                    FrameBuffer.Rent(0), header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0,
                    inlineAllowed: true);
            }

            return ValueTask.CompletedTask;
        }

        public void OnDisconnected(FrameConnection connection, Exception? cause)
        {
            // As above.
        }
    }
}
