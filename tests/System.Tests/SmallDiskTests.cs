using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Text.RegularExpressions;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A volume that is too small, or becomes so: file systems of the test's own, which needs the rights of
/// root.</summary>
public sealed partial class SmallDiskTests
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

    [Theory]
    [InlineData(64)]
    [InlineData(512)]
    [InlineData(1 << 10)]
    [InlineData(3 << 10, Traits = [LongRun.Trait, LongRun.Only])]
    [InlineData(10 << 10)]
    public async Task GivenAVolumeOfAnySize_WhenTheServerStartsWithDefaults_ThenItIsReadyAndTakesMessages(int mebibytes)
    {
        await using SmallVolume volume = await SmallVolume.MountAsync(mebibytes);
        await using ServerProcess server = await StartAsync(volume);
        Assert.Equal(HttpStatusCode.OK, await ReadyAsync(server));
        await using var client = new EQueueClient(server.Address);
        await SendAsync(client, megabytes: 10);
        Assert.Equal((0, 100), await RangeAsync(client));
        Assert.Equal(0, await server.StopAsync());
    }

    [Theory]
    [Follows("Set Limits:MaxMessageBytes to", "give the data directory (--data) a larger volume.")]
    [InlineData(8, Traits = [LongRun.Trait, LongRun.Only])]
    [InlineData(16, Traits = [LongRun.Trait, LongRun.Only])]
    [InlineData(24)]
    public async Task GivenAVolumeThatIsTooSmall_WhenTheRefusalIsFollowed_ThenTheServerTakesMessages(int mebibytes)
    {
        await using SmallVolume volume = await SmallVolume.MountAsync(mebibytes);
        ProgramResult refused = await ProgramRun.RunAsync(
            "Server", "--data", volume["data"], "--listen", "127.0.0.1:0", "--admin", "none");
        Assert.Equal(2, refused.ExitCode);
        Match advice = Advice().Match(refused.Error);
        Assert.True(advice.Success, refused.ToString());
        await using ServerProcess server = await ServerProcess.StartAsync(
            volume["data"], "--Limits:MaxMessageBytes", advice.Groups["bytes"].Value,
            "--Store:SegmentSizeBytes", advice.Groups["segment"].Value);
        Assert.Equal(0, (await ProgramRun.RunAsync("Cli", "send", "t", "x", "--server", server.Address)).ExitCode);

        Assert.Contains("give the data directory (--data) a larger volume", refused.Error, StringComparison.Ordinal);
        await using SmallVolume larger = await SmallVolume.MountAsync(64);
        await using ServerProcess there = await StartAsync(larger);
        Assert.Equal(0, (await ProgramRun.RunAsync("Cli", "send", "t", "x", "--server", there.Address)).ExitCode);
    }

    [Fact]
    [Follows("Give it more room, or set Store:SegmentSizeBytes to", "Give it more room: messages of")]
    public async Task GivenALargeLogAndOthersWhoTookTheRest_WhenTheWarningIsFollowed_ThenMessagesAreTaken()
    {
        await using SmallVolume volume = await SmallVolume.MountAsync(512);
        string[] small = ["--Limits:MaxMessageBytes", "256KiB"];
        await using (ServerProcess before = await StartAsync(volume, small))
        {
            await using var client = new EQueueClient(before.Address);
            await SendAsync(client, megabytes: 250);
            Assert.Equal(0, await before.StopAsync());
        }

        await LeaveAsync(volume, 24 << 20);
        string advised;
        await using (ServerProcess waiting = await StartAsync(volume, small))
        {
            Assert.True(await ReadyAsync(waiting) == HttpStatusCode.ServiceUnavailable, waiting.Error);
            Match advice = SegmentAdvice().Match(waiting.Error);
            Assert.True(advice.Success, waiting.Error);
            advised = advice.Groups["segment"].Value;
            Assert.Equal(0, await waiting.StopAsync());
        }

        await using (ServerProcess smaller = await StartAsync(volume, [.. small, "--Store:SegmentSizeBytes", advised]))
        {
            Assert.Equal(HttpStatusCode.OK, await ReadyAsync(smaller));
            Assert.Equal(0, (await ProgramRun.RunAsync("Cli", "send", "t", "x", "--server", smaller.Address)).ExitCode);
            Assert.Equal(0, await smaller.StopAsync());
        }

        await LeaveAsync(volume, 10 << 20);
        await using ServerProcess full = await StartAsync(volume, small);
        Assert.Equal(HttpStatusCode.ServiceUnavailable, await ReadyAsync(full));
        Assert.Contains("Give it more room: messages of", full.Error, StringComparison.Ordinal);
        File.Delete(volume["others"]);
        await Eventually.TrueAsync(async () => await ReadyAsync(full) == HttpStatusCode.OK);
        Assert.Equal(0, (await ProgramRun.RunAsync("Cli", "send", "t", "x", "--server", full.Address)).ExitCode);
        Assert.Equal(0, await full.StopAsync());
    }

    [Fact]
    public async Task GivenAVolumeThatOthersFilled_WhenTheServerStartsForTheFirstTime_ThenItEndsWithThreeAndSaysWhatItNeeds()
    {
        await using SmallVolume volume = await SmallVolume.MountAsync(64);
        Directory.CreateDirectory(volume["data"]);
        await LeaveAsync(volume, 256 << 10);
        string[] start = ["--data", volume["data"], "--listen", "127.0.0.1:0", "--admin", "none"];
        ProgramResult refused = await ProgramRun.RunAsync("Server", start);
        Assert.True(refused.ExitCode == 3, refused.ToString());
        Assert.Contains(volume["data"], refused.Error, StringComparison.Ordinal);
        Assert.Contains("Give it more room", refused.Error, StringComparison.Ordinal);

        File.Delete(volume["others"]);
        await using ServerProcess server = await StartAsync(volume);
        Assert.Equal(0, (await ProgramRun.RunAsync("Cli", "send", "t", "x", "--server", server.Address)).ExitCode);
        Assert.Equal(0, await server.StopAsync());
    }

    /// <summary>MiB of the volumes that are filled: a small one, and those that are asked for.</summary>
    public static TheoryData<int> Filled =>
    [
        64, .. LongRun.IsAsked ? [512] : (int[])[], .. (Environment.GetEnvironmentVariable("EQUEUE_DISK_MEBIBYTES") ?? "")
            .Split(',', StringSplitOptions.RemoveEmptyEntries)
            .Select(size => int.Parse(size, CultureInfo.InvariantCulture)),
    ];

    [Theory]
    [MemberData(nameof(Filled))]
    public async Task GivenAVolume_WhenFarMoreIsSentThanItHolds_ThenTheOldestGoAndAllIsAcknowledged(int mebibytes)
    {
        await using SmallVolume volume = await SmallVolume.MountAsync(mebibytes);
        await using ServerProcess server = await StartAsync(volume, "--Topics:RetentionInterval", "100ms");
        await using var client = new EQueueClient(server.Address);
        int megabytes = mebibytes * 3 / 2;
        await SendAsync(client, megabytes);
        (long start, long end) = await RangeAsync(client);
        Assert.Equal(megabytes * 10, end);
        // Ten to a megabyte: at least three tenths of the volume is kept, and no more than it holds.
        Assert.InRange(end - start, mebibytes * 3, mebibytes * 10);
        Assert.Equal(HttpStatusCode.OK, await ReadyAsync(server));
        TestContext.Current.TestOutputHelper?.WriteLine($"{end - start} messages of 100 KB are kept on {mebibytes} MiB");
        Assert.Equal(0, await server.StopAsync());
    }

    [Theory]
    [MemberData(nameof(Filled))]
    public async Task GivenUnreadMessages_WhenAnotherProgramFillsTheVolume_ThenNoneOfThemGoes(int mebibytes)
    {
        await using SmallVolume volume = await SmallVolume.MountAsync(mebibytes);
        await using ServerProcess server = await StartAsync(volume, "--Topics:RetentionInterval", "100ms");
        await using var client = new EQueueClient(server.Address);
        int megabytes = mebibytes / 5;
        await SendAsync(client, megabytes);
        await LeaveAsync(volume, 1 << 20);
        await Eventually.TrueAsync(async () => await ReadyAsync(server) == HttpStatusCode.ServiceUnavailable);
        // A round of retention ends without a trace when nothing goes: twenty of them.
        var rounds = Stopwatch.StartNew();
        await Eventually.TrueAsync(() => rounds.Elapsed > TimeSpan.FromSeconds(2));
        Assert.Equal((0, megabytes * 10), await RangeAsync(client));
        File.Delete(volume["others"]);
        await Eventually.TrueAsync(async () => await ReadyAsync(server) == HttpStatusCode.OK);
        await SendAsync(client, megabytes: 1);
        Assert.Equal((0, (megabytes + 1) * 10), await RangeAsync(client));
        Assert.Equal(0, await server.StopAsync());
    }

    /// <summary>Others take all of the volume but so many bytes.</summary>
    private static async Task LeaveAsync(SmallVolume volume, long bytes)
    {
        File.Delete(volume["others"]);
        long left = new DriveInfo(volume["data"]).AvailableFreeSpace - bytes;
        byte[] piece = new byte[1 << 20];
        await using var others = new FileStream(
            volume["others"], FileMode.CreateNew, FileAccess.Write, FileShare.Read, bufferSize: 0);
        try
        {
            for (; left > 0; left -= piece.Length)
                await others.WriteAsync(piece.AsMemory(0, (int)Math.Min(left, piece.Length)), Token);
        }
        catch (IOException)
        {
            // The server took some of the room meanwhile.
        }
    }

    private static Task<ServerProcess> StartAsync(SmallVolume volume, params string[] more) =>
        ServerProcess.StartAsync(volume["data"], ["--admin", "127.0.0.1:0", "--flush", "async", .. more]);

    /// <summary>Sends messages of 100 KB, each acknowledged, a few at a time.</summary>
    private static async Task SendAsync(EQueueClient client, int megabytes)
    {
        await using Producer producer = client.CreateProducer();
        byte[] body = new byte[100_000];
        var sending = new Queue<Task>();
        for (int i = 0; i < megabytes * 10; i++)
        {
            sending.Enqueue(producer.SendAsync("t", body, "key", cancellationToken: Token).AsTask());
            if (sending.Count > 10)
                await sending.Dequeue();
        }

        await Task.WhenAll(sending);
    }

    /// <summary>The first offset of the queue that has messages, and the one behind its last.</summary>
    private static async Task<(long Start, long End)> RangeAsync(EQueueClient client)
    {
        TopicDescription topic = await client.Admin.DescribeTopicAsync("t", Token);
        QueueDescription queue = Assert.Single(topic.Queues, queue => queue.End.Value > 0);
        return (queue.Start.Value, queue.End.Value);
    }

    [GeneratedRegex("MaxMessageBytes to (?<bytes>[0-9]+) or less and Store:SegmentSizeBytes to (?<segment>[0-9]+)")]
    private static partial Regex Advice();

    [GeneratedRegex("Store:SegmentSizeBytes to (?<segment>[0-9]+[A-Za-z]*) or less")]
    private static partial Regex SegmentAdvice();

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
