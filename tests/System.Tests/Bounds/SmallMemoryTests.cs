using System.Globalization;
using System.Text.Json;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.System.Tests.Bounds;

/// <summary>What ended a server, or took gigabytes, before its memory had bounds.</summary>
public sealed class SmallMemoryTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenATopicOf10000Queues_WhenTwentyRoutesNameItAThousandTimesAtOnce_ThenTheServerStaysBelow300MB()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--flush", "async", "--admin", "127.0.0.1:0");
        await using var client = new EQueueClient(server.Address);
        await client.Admin.CreateTopicAsync("wide", new TopicSettings { QueueCount = 10_000 }, Token);
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };
        byte[] route = BoundCases.Of(new RouteRequest([.. Enumerable.Repeat("wide", 1_000)], AutoCreate: false)).Bytes;
        byte[] single = BoundCases.Of(new RouteRequest(["wide"], AutoCreate: false)).Bytes;
        using var ending = CancellationTokenSource.CreateLinkedTokenSource(Token);
        // An answer has 180 KB: those that wait for their peers are 144 MB, and the server has 93 MB before.
        BoundPeer[] peers = [.. Enumerable.Range(0, 20).Select(_ => new BoundPeer())];
        Task[] asking =
        [
            .. peers.Select((peer, i) => peer.RunAsync(
                server.Address,
                [BoundPeer.Hello($"peer{i}"), route, .. Enumerable.Repeat(single, 40)],
                TimeSpan.FromMinutes(1),
                ending.Token)),
        ];
        long most = 0;
        await Eventually.TrueAsync(async () =>
        {
            using var stats = JsonDocument.Parse(await http.GetStringAsync("/stats", Token));
            most = Math.Max(most, stats.RootElement.GetProperty("process.residentBytes").GetInt64());
            return stats.RootElement.GetProperty("broker.requests").GetInt64() > 20 * 42;
        });
        await ending.CancelAsync();
        await Task.WhenAll(asking);
        foreach (BoundPeer peer in peers)
            peer.Dispose();
        Assert.InRange(most, 1, 300_000_000);
    }

    [Fact]
    public async Task GivenAContainerOf300MiB_WhenFortySendersHave3MiBEach_ThenAllIsStoredAndMemoryLasts()
    {
        // What .NET makes of such a container: three quarters of it for the heap.
        var heap = new Dictionary<string, string>(StringComparer.Ordinal)
        {
            ["DOTNET_GCHeapHardLimit"] = (225L << 20).ToString("X", CultureInfo.InvariantCulture),
        };
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], heap, "--flush", "async");
        byte[] body = new byte[3 << 20];
        async Task SendAsync(int number)
        {
            await using var client = new EQueueClient(server.Address);
            await using Producer producer = client.CreateProducer();
            for (int i = 0; i < 4; i++)
                await producer.SendAsync("orders", body, $"{number}", cancellationToken: Token);
        }

        await Task.WhenAll(Enumerable.Range(0, 40).Select(number => Task.Run(() => SendAsync(number), Token)));
        Assert.DoesNotContain("OutOfMemory", server.Error, StringComparison.Ordinal);
        Assert.Equal(0, await server.StopAsync());
    }
}
