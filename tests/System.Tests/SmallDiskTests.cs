using System.Net;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A volume that is too small, or becomes so: file systems of the test's own, which needs the rights of
/// root.</summary>
public sealed class SmallDiskTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenSegmentsTooLargeForTheVolume_WhenTheServerStarts_ThenItFitsThemAndTakesMessages()
    {
        await using SmallVolume volume = await SmallVolume.MountAsync(200);
        await using ServerProcess server = await ServerProcess.StartAsync(
            volume["data"], "--admin", "127.0.0.1:0", "--Store:SegmentSizeBytes", "512MiB");
        Assert.Equal(HttpStatusCode.OK, await ReadyAsync(server));
        Assert.Equal(0, (await ProgramRun.RunAsync("Cli", "send", "t", "x", "--server", server.Address)).ExitCode);
    }

    [Fact]
    public async Task GivenAVolumeThatFillsUp_WhenAProbeAsks_ThenTheBrokerIsNotReadyUntilThereIsRoomAgain()
    {
        await using SmallVolume volume = await SmallVolume.MountAsync(200);
        await using ServerProcess server = await ServerProcess.StartAsync(
            volume["data"], "--admin", "127.0.0.1:0", "--Store:SegmentSizeBytes", "8MiB");
        Assert.Equal(HttpStatusCode.OK, await ReadyAsync(server));
        long free = new DriveInfo(volume["data"]).AvailableFreeSpace;
        await File.WriteAllBytesAsync(volume["others"], new byte[free - (1 << 20)], Token);
        await Eventually.TrueAsync(async () => await ReadyAsync(server) == HttpStatusCode.ServiceUnavailable);
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };
        Assert.Equal("live\n", await http.GetStringAsync("/health/live", Token));
        File.Delete(volume["others"]);
        await Eventually.TrueAsync(async () => await ReadyAsync(server) == HttpStatusCode.OK);
    }

    private static async Task<HttpStatusCode> ReadyAsync(ServerProcess server)
    {
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };
        using HttpResponseMessage answer = await http.GetAsync("/health/ready", Token);
        return answer.StatusCode;
    }

    /// <summary>A file system in memory of so many MiB.</summary>
    private sealed class SmallVolume : IAsyncDisposable
    {
        private readonly TempDirectory _directory = new();

        public string this[string name] => Path.Combine(_directory["volume"], name);

        public static async Task<SmallVolume> MountAsync(int mebibytes)
        {
            if (!OperatingSystem.IsLinux() || !Environment.IsPrivilegedProcess)
                Assert.Skip("A file system is mounted by root, on Linux.");
            var volume = new SmallVolume();
            Directory.CreateDirectory(volume._directory["volume"]);
            ProgramResult mounted = await ToolRun.RunAsync(
                "mount", "-t", "tmpfs", "-o", $"size={mebibytes}m", "tmpfs", volume._directory["volume"]);
            if (mounted.ExitCode != 0)
            {
                volume._directory.Dispose();
                Assert.Skip($"No file system can be mounted here: {mounted.Error}");
            }

            return volume;
        }

        public async ValueTask DisposeAsync()
        {
            await ToolRun.RunAsync("umount", "--lazy", _directory["volume"]);
            _directory.Dispose();
        }
    }
}
