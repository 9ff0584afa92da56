using System.Globalization;
using System.Net;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A file system that is frozen under a running server (fsfreeze, on a loop device of the test's own, which
/// needs the rights of root). EQUEUE_FREEZE_SECONDS sets for how long beyond the moment at which it shows (0).</summary>
public sealed class FrozenDiskTests
{
    private static readonly double Seconds = double.Parse(
        Environment.GetEnvironmentVariable("EQUEUE_FREEZE_SECONDS") ?? "0", CultureInfo.InvariantCulture);

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData("sync")]
    [InlineData("async")]
    public async Task GivenAFrozenFileSystem_WhenMessagesAreSent_ThenHealthAndLogSaySoUntilItGoesOnAndNothingIsLost(
        string flush)
    {
        await using LoopVolume volume = await LoopVolume.MountAsync(256);
        await using ServerProcess server = await ServerProcess.StartAsync(
            volume["data"], "--admin", "127.0.0.1:0", "--flush", flush);
        await using var client = new EQueueClient(server.Address);
        await using Producer producer = client.CreateProducer(
            new ProducerOptions { DeliveryTimeout = TimeSpan.FromMinutes(5) });
        await producer.SendAsync("t", "before"u8.ToArray(), "key", cancellationToken: Token);
        Assert.Equal(HttpStatusCode.OK, (await ReadyAsync(server)).Code);

        await volume.FreezeAsync();
        Task<SendReceipt> sending = producer.SendAsync("t", "meanwhile"u8.ToArray(), "key", cancellationToken: Token).AsTask();
        await Eventually.TrueAsync(async () => (await ReadyAsync(server)).Code == HttpStatusCode.ServiceUnavailable);
        Assert.Contains("disk", (await ReadyAsync(server)).Text, StringComparison.Ordinal);
        await Eventually.TrueAsync(() => server.Error.Contains(" WRN 2221 ", StringComparison.Ordinal), "event 2221");
        long until = Environment.TickCount64 + (long)(Seconds * 1_000);
        await Eventually.TrueAsync(async () =>
        {
            Assert.Equal(HttpStatusCode.ServiceUnavailable, (await ReadyAsync(server)).Code);
            return Environment.TickCount64 >= until;
        });
        Assert.False(sending.IsCompleted);
        Assert.DoesNotContain(" 2222 ", server.Error, StringComparison.Ordinal);

        await volume.ThawAsync();
        await Eventually.TrueAsync(async () => (await ReadyAsync(server)).Code == HttpStatusCode.OK);
        await Eventually.TrueAsync(() => server.Error.Contains(" 2222 ", StringComparison.Ordinal), "event 2222");
        Assert.Equal(1, (await sending.WaitAsync(TimeSpan.FromMinutes(1), Token)).Offset.Value);
        await producer.SendAsync("t", "after"u8.ToArray(), "key", cancellationToken: Token);

        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync("t", StartPosition.Begin, Token);
        List<string> read = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
            read.Add(global::System.Text.Encoding.UTF8.GetString(message.Body.Span));
        Assert.Equal(["before", "meanwhile", "after"], read);
        Assert.Equal(0, await server.StopAsync());
    }

    private static async Task<(HttpStatusCode Code, string Text)> ReadyAsync(ServerProcess server)
    {
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };
        using HttpResponseMessage answer = await http.GetAsync("/health/ready", Token);
        return (answer.StatusCode, await answer.Content.ReadAsStringAsync(Token));
    }

    /// <summary>An ext4 file system in a file.</summary>
    private sealed class LoopVolume : IAsyncDisposable
    {
        private readonly TempDirectory _directory = new();
        private bool _isMounted;
        private bool _isFrozen;

        private string Root => _directory["volume"];

        public string this[string name] => Path.Combine(Root, name);

        public static async Task<LoopVolume> MountAsync(int mebibytes)
        {
            if (!OperatingSystem.IsLinux() || !Environment.IsPrivilegedProcess)
                Assert.Skip("A file system is frozen by root, on Linux.");
            var volume = new LoopVolume();
            Directory.CreateDirectory(volume.Root);
            string image = volume._directory["image"];
            using (FileStream file = File.Create(image))
                file.SetLength((long)mebibytes << 20);
            foreach (string[] command in (string[][])
                [["mkfs.ext4", "-q", "-F", image], ["mount", "-o", "loop", image, volume.Root]])
            {
                string? missing = await FailureOfAsync(command);
                if (missing is null)
                    continue;
                await volume.DisposeAsync();
                Assert.Skip($"No file system of its own can be made here: {missing}");
            }

            volume._isMounted = true;
            return volume;
        }

        public async Task FreezeAsync()
        {
            _isFrozen = true;
            Assert.Null(await FailureOfAsync(["fsfreeze", "--freeze", Root]));
        }

        public async Task ThawAsync()
        {
            Assert.Null(await FailureOfAsync(["fsfreeze", "--unfreeze", Root]));
            _isFrozen = false;
        }

        public async ValueTask DisposeAsync()
        {
            if (_isFrozen)
                await FailureOfAsync(["fsfreeze", "--unfreeze", Root]);
            if (_isMounted)
                await FailureOfAsync(["umount", "--lazy", Root]);
            _directory.Dispose();
        }

        private static async Task<string?> FailureOfAsync(string[] command)
        {
            try
            {
                ProgramResult result = await ToolRun.RunAsync(command[0], command[1..]);
                return result.ExitCode == 0 ? null : result.Error;
            }
            catch (global::System.ComponentModel.Win32Exception exception)
            {
                return exception.Message;
            }
        }
    }
}
