using System.Collections.Concurrent;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The server as systemd runs it: what it says on NOTIFY_SOCKET, from its start to its end.</summary>
public sealed class ServiceTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAServerUnderLoad_WhenItIsStartedWatchedAndTerminated_ThenItSaysSoAndLosesNothing()
    {
        using var directory = new TempDirectory();
        using var systemd = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
        systemd.Bind(new UnixDomainSocketEndPoint(directory["notify"]));
        var environment = new Dictionary<string, string>(StringComparer.Ordinal)
        {
            ["NOTIFY_SOCKET"] = directory["notify"],
            ["WATCHDOG_USEC"] = "200000",
        };
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], environment);
        var heard = new ConcurrentQueue<string>();
        using var end = CancellationTokenSource.CreateLinkedTokenSource(Token);
        Task listening = ListenAsync(systemd, heard, end.Token);
        await Eventually.TrueAsync(() => heard.Count(static said => said == "WATCHDOG=1") >= 3);
        Assert.Equal("STATUS=Recovering", heard.First());
        await Eventually.TrueAsync(() => heard.Contains($"READY=1\nSTATUS=Serving on {server.Address}"));

        int acknowledged = 0;
        await using var client = new EQueueClient(server.Address);
        var sending = Task.Run(
            async () =>
            {
                await using Producer producer = client.CreateProducer(
                    new ProducerOptions { DeliveryTimeout = TimeSpan.FromSeconds(2) });
                while (true)
                {
                    await producer.SendAsync("orders", new byte[100], cancellationToken: Token);
                    Interlocked.Increment(ref acknowledged);
                }
            },
            Token);
        await Eventually.TrueAsync(() => Volatile.Read(ref acknowledged) > 50);
        Assert.Equal(0, await server.StopAsync(PosixSignal.SIGTERM));
        await Eventually.TrueAsync(
            () => heard.Any(static said => said.StartsWith("STOPPING=1", StringComparison.Ordinal)));
        await end.CancelAsync();
        await listening;
        await Assert.ThrowsAnyAsync<Exception>(() => sending);
        Assert.True(File.Exists(Path.Combine(directory["data"], "clean")));

        ProgramResult verified = await ProgramRun.RunAsync("Cli", "log", "verify", directory["data"], "--json");
        Assert.Equal(0, verified.ExitCode);
        using var report = global::System.Text.Json.JsonDocument.Parse(verified.OutputText);
        Assert.InRange(report.RootElement.GetProperty("messages").GetInt64(), acknowledged, long.MaxValue);
    }

    [Fact]
    public async Task GivenTheServersOwnProgram_WhenAskedForItsUnit_ThenTheUnitStartsThatProgram()
    {
        ProgramResult printed = await ProgramRun.RunAsync("Server", "install", "--dry-run");
        Assert.Equal(0, printed.ExitCode);
        Assert.Contains("Type=notify\n", printed.OutputText, StringComparison.Ordinal);
        string start = printed.OutputText.Split('\n').Single(
            line => line.StartsWith("ExecStart=", StringComparison.Ordinal))["ExecStart=".Length..];
        Assert.All(start.Split(" --config")[0].Split(' '), path => Assert.True(File.Exists(path.Trim('"')), path));

        ProgramResult refused = await ProgramRun.RunAsync("Server", "install", "--nope", "1");
        Assert.Equal(2, refused.ExitCode);
        Assert.Contains("--nope is not an option of install", refused.Error, StringComparison.Ordinal);
    }

    /// <summary>Takes what the server says at once, as systemd does: the system keeps only a few words for who does not
    /// listen.</summary>
    private static async Task ListenAsync(Socket systemd, ConcurrentQueue<string> heard, CancellationToken end)
    {
        byte[] buffer = new byte[4096];
        try
        {
            while (true)
            {
                int count = await systemd.ReceiveAsync(buffer, end);
                heard.Enqueue(Encoding.UTF8.GetString(buffer, 0, count));
            }
        }
        catch (OperationCanceledException)
        {
            // The test has heard enough.
        }
    }
}
