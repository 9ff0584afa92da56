using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using EQueue.Client;
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
        List<string> heard = [];
        await HearAsync(systemd, heard, "READY=1");
        Assert.Equal("STATUS=Recovering", heard[0]);
        Assert.Equal($"READY=1\nSTATUS=Serving on {server.Address}", heard[^1]);
        for (int i = 0; i < 3; i++) await HearAsync(systemd, heard, "WATCHDOG=1");

        int acknowledged = 0;
        await using var client = new EQueueClient(server.Address);
        Task sending = Task.Run(
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
        await HearAsync(systemd, heard, "STOPPING=1");
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

    private static async Task HearAsync(Socket systemd, List<string> heard, string wanted)
    {
        byte[] buffer = new byte[4096];
        using var late = CancellationTokenSource.CreateLinkedTokenSource(Token);
        late.CancelAfter(TimeSpan.FromSeconds(60));
        do
        {
            int count = await systemd.ReceiveAsync(buffer, late.Token);
            heard.Add(Encoding.UTF8.GetString(buffer, 0, count));
        }
        while (!heard[^1].StartsWith(wanted, StringComparison.Ordinal));
    }
}
