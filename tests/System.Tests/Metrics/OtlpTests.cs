using System.Net;
using System.Net.Sockets;
using System.Text;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Metrics that the server sends to a collector.</summary>
public sealed class OtlpTests
{
    private static readonly Dictionary<string, string> Http =
        new(StringComparer.Ordinal) { ["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/protobuf" };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    [EffectOf("Telemetry:OtlpEndpoint")]
    public async Task GivenACollector_WhenTheServerRunsAndStops_ThenItHasTheMetricsWithNameOfTheService()
    {
        using var directory = new TempDirectory();
        using HttpListener collector = Listen(out string address);
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], Http, "--Telemetry:OtlpEndpoint", address);
        Task<int> stopped = server.StopAsync();
        // The last round is sent while the server stops, whatever the interval.
        HttpListenerContext call = await collector.GetContextAsync().WaitAsync(TimeSpan.FromSeconds(30), Token);
        string body = await ReadAsync(call);

        Assert.Equal("/v1/metrics", call.Request.Url!.AbsolutePath);
        Assert.Equal("application/x-protobuf", call.Request.ContentType);
        Assert.Contains("equeue-server", body, StringComparison.Ordinal);
        Assert.Contains("equeue.broker.connections", body, StringComparison.Ordinal);
        Assert.Contains("dotnet.process.memory.working_set", body, StringComparison.Ordinal);
        Assert.Equal(0, await stopped);
    }

    [Fact]
    public async Task GivenTheStandardEnvironment_WhenTheServerRuns_ThenItSendsAsThatSays()
    {
        using var directory = new TempDirectory();
        using HttpListener collector = Listen(out string address);
        var environment = new Dictionary<string, string>(Http, StringComparer.Ordinal)
        {
            ["OTEL_EXPORTER_OTLP_ENDPOINT"] = address,
            ["OTEL_METRIC_EXPORT_INTERVAL"] = "200",
            ["OTEL_SERVICE_NAME"] = "orders-broker",
        };
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], environment);
        string body = "";

        // The first round may leave while the exporter is still being told of the instruments.
        while (!body.Contains("equeue.store.messages", StringComparison.Ordinal))
        {
            HttpListenerContext call = await collector.GetContextAsync().WaitAsync(TimeSpan.FromSeconds(30), Token);
            body = await ReadAsync(call);
            Assert.Equal("/v1/metrics", call.Request.Url!.AbsolutePath);
            Assert.Contains("orders-broker", body, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task GivenACollectorThatIsAway_WhenTheServerRunsAndStops_ThenNothingElseHappens()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--Telemetry:OtlpEndpoint", "http://127.0.0.1:1");
        ProgramResult sent = await ProgramRun.RunAsync("Cli", "send", "t", "x", "--server", server.Address);
        Assert.True(sent.ExitCode == 0, sent.Error);
        Assert.Equal(0, await server.StopAsync());
    }

    private static async Task<string> ReadAsync(HttpListenerContext call)
    {
        var bytes = new MemoryStream();
        await call.Request.InputStream.CopyToAsync(bytes, Token);
        call.Response.StatusCode = 200;
        call.Response.Close();
        return Encoding.Latin1.GetString(bytes.ToArray());
    }

    private static HttpListener Listen(out string address)
    {
        using var probe = new TcpListener(IPAddress.Loopback, 0);
        probe.Start();
        int port = ((IPEndPoint)probe.LocalEndpoint).Port;
        probe.Stop();
        address = $"http://127.0.0.1:{port}/";
        var listener = new HttpListener();
        listener.Prefixes.Add(address);
        listener.Start();
        return listener;
    }
}
