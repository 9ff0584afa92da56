using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text.Json;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The server as scripts and service managers see it: ready line, signals, exit codes, admin pages.</summary>
public sealed class ServerProcessTests
{
    [Theory]
    [EffectOf("Server:DataDirectory")]
    [InlineData(PosixSignal.SIGTERM)]
    [InlineData(PosixSignal.SIGINT)]
    public async Task GivenARunningServer_WhenSignalled_ThenItStopsCleanlyAndKeepsWhatItHas(PosixSignal signal)
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--flush", "async");
        Assert.Equal(directory["data"], server.Directory);
        Assert.Equal("none", server.Admin);
        await SendAsync(server, "kept");

        Assert.Equal(0, await server.StopAsync(signal));
        Assert.True(File.Exists(Path.Combine(directory["data"], "clean")), "no clean marker");

        await server.RestartAsync();
        ProgramResult read = await ProgramRun.RunAsync(
            "Cli", "consume", "t", "--server", server.Address, "--group", "g");
        Assert.Equal("kept\n", read.OutputText);
    }

    [Fact]
    public async Task GivenServersInMemory_WhenUsedAndStopped_ThenTheyShareAFolderThatNeitherTouches()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server =
            await ServerProcess.StartAsync(directory["data"], "--Store:Memory", "67108864");
        await using ServerProcess other =
            await ServerProcess.StartAsync(directory["data"], "--Store:Memory", "67108864");
        await SendAsync(server, "in memory");
        ProgramResult read = await ProgramRun.RunAsync(
            "Cli", "consume", "t", "--server", server.Address, "--group", "g");
        Assert.Equal("in memory\n", read.OutputText);
        Assert.Equal(0, await server.StopAsync());
        Assert.False(Directory.Exists(directory["data"]), "the data directory must not be made");
    }

    [Fact]
    public async Task GivenAServer_WhenAnotherOneOpensItsDirectory_ThenThatOneEndsWithThreeAndTheFirstGoesOn()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        ProgramResult second = await RunServerAsync("--data", directory["data"], "--listen", "127.0.0.1:0");
        Assert.Equal(3, second.ExitCode);
        Assert.Empty(second.Output);
        Assert.Contains("locked", second.Error, StringComparison.Ordinal);
        await SendAsync(server, "still here");
    }

    [Fact]
    [Follows("End what listens there, or set another address; port 0 takes any free one.")]
    public async Task GivenAPortInUse_WhenAServerListensOnIt_ThenItEndsWithFourAndNamesAddressAndSetting()
    {
        using var directory = new TempDirectory();
        using var taken = new TcpListener(IPAddress.Loopback, 0);
        taken.Start();
        ProgramResult data = await RunServerAsync("--data", directory["a"], "--listen", $"{taken.LocalEndpoint}");
        Assert.Equal(4, data.ExitCode);
        Assert.Empty(data.Output);
        Assert.Contains($"Server:Listen is '{taken.LocalEndpoint}', which is in use", data.Error, StringComparison.Ordinal);
        ProgramResult second = await RunServerAsync(
            "--data", directory["c"], "--listen", $"127.0.0.1:0,{taken.LocalEndpoint}");
        Assert.Equal(4, second.ExitCode);
        Assert.Contains($"in use: {taken.LocalEndpoint}: Address already in use", second.Error, StringComparison.Ordinal);
        ProgramResult admin = await ProgramRun.RunAsync(
            "Server", "--data", directory["b"], "--listen", "127.0.0.1:0", "--admin", $"{taken.LocalEndpoint}");
        Assert.Equal(4, admin.ExitCode);
        Assert.Contains(
            $"Server:AdminListen is '{taken.LocalEndpoint}', which is in use", admin.Error, StringComparison.Ordinal);

        Assert.Contains("or set another address; port 0 takes any free one", data.Error, StringComparison.Ordinal);
        await using (ServerProcess any = await ServerProcess.StartAsync(directory["a"], "--listen", "127.0.0.1:0"))
            Assert.Equal(0, await any.StopAsync());
        string address = $"{taken.LocalEndpoint}";
        taken.Stop();
        await using ServerProcess same = await ServerProcess.StartAsync(directory["a"], "--listen", address);
        Assert.Equal(address, same.Address);
        Assert.Equal(0, await same.StopAsync());
    }

    [Theory]
    [InlineData("--flush", "never")]
    [InlineData("--nope", "1")]
    [InlineData("--Store:Logs", "3")]
    [InlineData("--Limits:MaxMessageBytes", "-1")]
    public async Task GivenAWrongSetting_WhenTheServerStarts_ThenItEndsWithTwoAndNamesIt(string flag, string value)
    {
        using var directory = new TempDirectory();
        ProgramResult result = await RunServerAsync("--data", directory["data"], flag, value);
        Assert.Equal(2, result.ExitCode);
        Assert.Empty(result.Output);
        Assert.Contains(flag == "--flush" ? "Store:FlushPolicy" : flag.TrimStart('-'), result.Error, StringComparison.Ordinal);
        Assert.False(Directory.Exists(directory["data"]), "a refused configuration must not touch the directory");
    }

    [Fact]
    public async Task GivenADirectoryOfAnotherVersion_WhenTheServerStarts_ThenItEndsWithThreeAndTouchesNothing()
    {
        using var directory = new TempDirectory();
        await using (ServerProcess server = await ServerProcess.StartAsync(directory["data"]))
            Assert.Equal(0, await server.StopAsync());
        string file = Path.Combine(directory["data"], "store");
        byte[] bytes = await File.ReadAllBytesAsync(file);
        // Bytes 8 and 9 are the format version; the last four are the CRC of what stands before them.
        BinaryPrimitives.WriteUInt16LittleEndian(bytes.AsSpan(8), 2);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(bytes.Length - 4), Crc32C.Compute(bytes.AsSpan(..^4)));
        await File.WriteAllBytesAsync(file, bytes);

        ProgramResult result = await RunServerAsync("--data", directory["data"], "--listen", "127.0.0.1:0");

        Assert.Equal(3, result.ExitCode);
        Assert.Contains(file, result.Error, StringComparison.Ordinal);
        Assert.Equal(bytes, await File.ReadAllBytesAsync(file));
    }

    [Fact]
    public async Task GivenADiskThatRefusesWrites_WhenAMessageIsSent_ThenTheServerEndsWithFive()
    {
        if (!OperatingSystem.IsLinux())
            Assert.Skip("prlimit is Linux's own.");
        using var directory = new TempDirectory();
        // The limit's signal is ignored, so that the write itself fails, as it does on a broken disk.
        await using ServerProcess server = await ServerProcess.StartWithoutFileSizeSignalAsync(directory["data"]);
        ProgramResult limited = await ToolRun.RunAsync("prlimit", "--pid", $"{server.ProcessId}", "--fsize=4096");
        Assert.Equal(0, limited.ExitCode);

        Task<ProgramResult> send = ProgramRun.RunAsync(
            "Cli", "send", "t", "x", "--server", server.Address, "--delivery-timeout", "2s", "--timeout", "2s");

        Assert.Equal(5, await server.WaitForExitAsync());
        Assert.NotEqual(0, (await send).ExitCode);
    }

    [Fact]
    public async Task GivenALimitOfFileSizes_WhenAMessageIsSent_ThenTheServerSaysSoAndEndsWithFive()
    {
        if (!OperatingSystem.IsLinux())
            Assert.Skip("prlimit is Linux's own.");
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        ProgramResult limited = await ToolRun.RunAsync("prlimit", "--pid", $"{server.ProcessId}", "--fsize=4096");
        Assert.Equal(0, limited.ExitCode);

        Task<ProgramResult> send = ProgramRun.RunAsync(
            "Cli", "send", "t", "x", "--server", server.Address, "--delivery-timeout", "2s", "--timeout", "2s");

        Assert.Equal(5, await server.WaitForExitAsync());
        Assert.Contains("File too large", server.Error, StringComparison.Ordinal);
        Assert.NotEqual(0, (await send).ExitCode);
    }

    [Fact]
    [EffectOf("Server:AdminListen")]
    public async Task GivenAdminPages_WhenAsked_ThenTheyTellHealthAndFigures()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--admin", "127.0.0.1:0");
        await SendAsync(server, "counted");
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };

        Assert.Equal("live\n", await http.GetStringAsync("/health/live"));
        Assert.Equal("ready\n", await http.GetStringAsync("/health/ready"));
        using var figures = JsonDocument.Parse(await http.GetStringAsync("/stats"));
        Assert.Equal(1, figures.RootElement.GetProperty("broker.topics").GetInt64());
        Assert.InRange(figures.RootElement.GetProperty("store.bytesWritten").GetInt64(), 1, long.MaxValue);
        Assert.Equal(HttpStatusCode.NotFound, (await http.GetAsync("/nothing")).StatusCode);
    }

    private static async Task SendAsync(ServerProcess server, string body)
    {
        ProgramResult sent = await ProgramRun.RunAsync("Cli", "send", "t", body, "--server", server.Address);
        Assert.True(sent.ExitCode == 0, sent.Error);
    }

    private static Task<ProgramResult> RunServerAsync(params string[] arguments)
        => ProgramRun.RunAsync("Server", [.. arguments, "--admin", "none"]);
}
