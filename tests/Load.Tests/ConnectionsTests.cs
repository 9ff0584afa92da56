using System.Buffers;
using System.Net;
using System.Text.Json;
using EQueue.Load.Scenarios;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Load.Tests;

public sealed class ConnectionsTests
{
    [Fact]
    public async Task GivenSomeIdleConnections_WhenConnectionsRuns_ThenTheirMemoryAndBothRatesAreMeasured()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "connections", "--connections", "600", "--producers", "4", "--messages", "20000", "--warmup",
            "0", "--repeat", "1");

        JsonElement row = Assert.Single(rows);
        Assert.Equal("--connections 600", row.GetProperty("params").GetProperty("endedBy").GetString());
        Assert.Equal(600, row.GetProperty("idleConnections").GetInt32());
        Assert.Equal(JsonValueKind.Number, row.GetProperty("bytesPerConnection").ValueKind);
        Assert.True(row.GetProperty("connectionsPerSecond").GetDouble() > 0);
        Assert.Equal(20_000, row.GetProperty("messages").GetInt64());
        JsonElement reference = row.GetProperty("reference");
        Assert.Equal(
            row.GetProperty("sendPerSecond").GetDouble() / reference.GetProperty("value").GetDouble(),
            reference.GetProperty("ratio").GetDouble(),
            tolerance: 0.001);
        foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged" })
            Assert.Equal(0, row.GetProperty(name).GetInt64());
    }

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenAPlantedDefect_WhenConnectionsRuns_ThenItExitsWith3AndGivesNoRate()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.WrongData, "connections", "--connections", "120", "--producers", "2", "--messages", "5000",
            "--warmup", "0", "--repeat", "1", "--inject", "missing");

        JsonElement row = rows[0];
        Assert.Equal(2, row.GetProperty("missing").GetInt64());
        Assert.Equal(JsonValueKind.Null, row.GetProperty("consumePerSecond").ValueKind);
        Assert.Equal(JsonValueKind.Null, row.GetProperty("reference").GetProperty("ratio").ValueKind);
    }

    [Fact]
    public async Task GivenAServerThatAsksForSignsOfLife_WhenAConnectionIsIdle_ThenItAnswersAndStays()
    {
        CancellationToken cancellationToken = TestContext.Current.CancellationToken;
        var handler = new HelloAnswerer();
        await using var server = new RemotingServer(
            new RemotingServerOptions { IdleTimeout = TimeSpan.FromSeconds(1) }, handler,
            NullLoggerFactory.Instance);
        await server.StartAsync(cancellationToken);
        var counts = new IdleCounts();

        await using IdleConnection connection = await IdleConnection.OpenAsync(
            (IPEndPoint)server.LocalEndPoint, IPAddress.Loopback, counts, cancellationToken);
        await Eventually.TrueAsync(() => Interlocked.Read(ref counts.Answered) >= 4);

        Assert.Equal(0, Interlocked.Read(ref counts.Lost));
        Assert.Equal(0, Interlocked.Read(ref counts.WrongFrames));
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--rate 5")]
    [InlineData("--connections 0")]
    [InlineData("--in-flight 1,2")]
    public async Task GivenFlagsThatConnectionsDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"connections {flags}");
    }

    private sealed class HelloAnswerer : IConnectionHandler
    {
        public void OnConnected(FrameConnection connection)
        {
        }

        public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
        {
            var body = new ArrayBufferWriter<byte>();
            new HelloResponse { Version = 1 }.Write(new PayloadWriter(body));
            var answer = FrameBuffer.Rent(body.WrittenCount);
            body.WrittenSpan.CopyTo(answer.Reserve(body.WrittenCount));
            connection.Send(answer, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0);
            return ValueTask.CompletedTask;
        }

        public void OnDisconnected(FrameConnection connection, Exception? cause)
        {
        }
    }
}
