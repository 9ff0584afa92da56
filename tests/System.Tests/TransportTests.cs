using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The server as a process, over other transports than bare TCP.</summary>
public sealed class TransportTests
{
    [Fact]
    [EffectOf("Server:Tls:Certificate", "Server:Tls:Key")]
    public async Task GivenAServerWithTls_WhenTheToolSendsAndReads_ThenItIsServedAndTheReadyLineIsAsEver()
    {
        using var directory = new TempDirectory();
        Plant(directory, -30, 30);
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--Server:Tls:Certificate", directory["server.pem"]);
        string[] tls = ["--server", server.Address, "--tls", "--tls-ca", directory["ca.pem"]];
        ProgramResult sent = await ProgramRun.RunAsync("Cli", ["send", "t", "secret", .. tls]);
        Assert.True(sent.ExitCode == 0, sent.Error);
        ProgramResult read = await ProgramRun.RunAsync("Cli", ["consume", "t", "--group", "g", .. tls]);
        Assert.Equal("secret\n", read.OutputText);
        Assert.Equal(0, await server.StopAsync());
    }

    [Theory]
    [InlineData("nowhere.pem", "there is no such file")]
    [InlineData("ca.pem", "it holds no private key in PEM")]
    [InlineData("server.pem", "it expired on")]
    public async Task GivenACertificateThatCannotBeUsed_WhenTheServerStarts_ThenItEndsWithTwoAndSaysWhy(
        string file, string reason)
    {
        using var directory = new TempDirectory();
        Plant(directory, -30, -1);
        ProgramResult result = await ProgramRun.RunAsync(
            "Server", "--data", directory["data"], "--listen", "127.0.0.1:0", "--admin", "none",
            "--Server:Tls:Certificate", directory[file]);
        Assert.Equal(2, result.ExitCode);
        Assert.Contains($"Server:Tls:Certificate is '{directory[file]}': {reason}", result.Error, StringComparison.Ordinal);
        Assert.False(Directory.Exists(directory["data"]), "a refused configuration must not touch the directory");
    }

    [Fact]
    [EffectOf("Server:Listen")]
    public async Task GivenTcpAndAUnixSocket_WhenTheServerIsKilledAndStartedAgain_ThenBothServeWhatWasKept()
    {
        using var directory = new TempDirectory();
        string unix = $"unix:{directory["equeue.sock"]}";
        await using ServerProcess server = await StartAsync("127.0.0.1:0");
        await SendAsync(unix, "over the socket");
        await SendAsync(server.Address, "over TCP");
        await server.KillAsync();
        Assert.True(File.Exists(directory["equeue.sock"]), "a killed server leaves its socket");

        await using ServerProcess again = await StartAsync(server.Address);
        Assert.Equal(server.Address, again.Address);
        ProgramResult read = await ProgramRun.RunAsync("Cli", "consume", "t", "--group", "g", "--server", unix);
        Assert.Equal(
            ["over TCP", "over the socket"], read.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries).Order());

        ProgramResult second = await ProgramRun.RunAsync(
            "Server", "--data", directory["other"], "--listen", unix, "--admin", "none");
        Assert.Equal(4, second.ExitCode);
        Assert.Contains(directory["equeue.sock"], second.Error, StringComparison.Ordinal);
        await SendAsync(unix, "still here");
        Assert.Equal(0, await again.StopAsync());
        Assert.False(File.Exists(directory["equeue.sock"]), "a stopped server removes its socket");

        Task<ServerProcess> StartAsync(string address) =>
            ServerProcess.StartAsync(directory["data"], "--listen", $"{unix},{address}");
    }

    [Fact]
    public async Task GivenAUnixSocketAlone_WhenTheServerIsReady_ThenTheReadyLineNamesIt()
    {
        using var directory = new TempDirectory();
        string unix = $"unix:{directory["equeue.sock"]}";
        await using var run = ProgramRun.Start(
            "Server", ["--data", directory["data"], "--listen", unix, "--admin", "none"]);
        string? line = await run.OutputReader.ReadLineAsync();
        Assert.StartsWith($"ready data={unix} admin=none pid=", line, StringComparison.Ordinal);
        await SendAsync(unix, "hello");
    }

    private static async Task SendAsync(string address, string body)
    {
        ProgramResult sent = await ProgramRun.RunAsync("Cli", "send", "t", body, "--server", address);
        Assert.True(sent.ExitCode == 0, sent.Error);
    }

    private static void Plant(TempDirectory directory, int fromDays, int toDays)
    {
        using var authority = TestAuthority.Create();
        using TestCertificate server = authority.Sign("127.0.0.1", fromDays, toDays);
        File.WriteAllText(directory["ca.pem"], authority.Pem);
        File.WriteAllText(directory["server.pem"], server.Pem);
    }
}
