using System.Net;
using System.Net.Sockets;
using System.Text.Json;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>A broker that is not there: a person who waits is told why, at once and at the end.</summary>
public sealed class ConnectTests
{
    [Fact]
    public async Task GivenARefusedPort_WhenACommandWaits_ThenTheReasonIsSaidWhileItIsStillTrying()
    {
        using var ended = new CancellationTokenSource();
        var error = new SharedWriter();
        var streams = new CliStreams(Stream.Null, Stream.Null, error, IsTerminal: false) { Variable = _ => null };
        string address = RefusedAddress();
        Task<int> waiting = CliProgram.RunAsync(
            ["topic", "list", "--server", address, "--timeout", "10m"], streams, ended.Token);
        await Eventually.TrueAsync(() => Task.FromResult(error.Text.Contains(
            $"equeue: {address}: connection refused; still trying", StringComparison.Ordinal)));
        Assert.False(waiting.IsCompleted);
        await ended.CancelAsync();
        Assert.Equal(ExitCode.Interrupted, await waiting);
    }

    [Fact]
    public async Task GivenARefusedPort_WhenTheTimeIsUp_ThenTheErrorSaysWhyAndJsonStaysJson()
    {
        string[] line = ["topic", "list", "--server", RefusedAddress(), "--timeout", "300ms"];
        CliRun people = await CliRun.RunAsync(line);
        Assert.Equal(ExitCode.Unreachable, people.ExitCode);
        Assert.Matches("equeue: No connection .*connection refused", people.Error);

        CliRun script = await CliRun.RunAsync([.. line, "--json"]);
        JsonElement error = JsonDocument.Parse(script.Error).RootElement.GetProperty("error");
        Assert.Contains("connection refused", error.GetProperty("message").GetString(), StringComparison.Ordinal);
    }

    /// <summary>Of a port that was free a moment ago.</summary>
    private static string RefusedAddress()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        return $"{listener.LocalEndpoint}";
    }

    /// <summary>May be looked at while it is written.</summary>
    private sealed class SharedWriter : StringWriter
    {
        private readonly Lock _gate = new();

        public string Text
        {
            get
            {
                lock (_gate)
                    return ToString();
            }
        }

        public override void WriteLine(string? value)
        {
            lock (_gate)
                base.WriteLine(value);
        }
    }
}
