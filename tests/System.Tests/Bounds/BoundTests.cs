using System.Globalization;
using System.Text.Json;
using System.Text.Json.Nodes;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.System.Tests.Bounds;

/// <summary>A server with a heap of 256 MiB, and 200 connections that drive each operation and each route to its longest
/// answer and to the most that is kept, beside a producer and a consumer that go on. EQUEUE_BOUND_SECONDS has it take
/// longer than ten seconds.</summary>
public sealed class BoundTests
{
    private const int Connections = 200;
    private const long HeapBytes = 0x10000000;

    private static readonly Dictionary<string, string> SmallHeap = new(StringComparer.Ordinal)
    {
        ["DOTNET_GCHeapHardLimit"] = HeapBytes.ToString("X", CultureInfo.InvariantCulture),
    };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenASmallHeap_WhenEveryOperationAndRouteIsDrivenToItsMost_ThenTheServerLivesAndOthersGoOn()
    {
        int seconds = LongRun.Length("EQUEUE_BOUND_SECONDS", 10, 120);
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], SmallHeap, "--flush", "async", "--admin", "127.0.0.1:0");
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };
        BoundPlant plant;
        await using (var client = new EQueueClient(server.Address))
            plant = await BoundPlant.MakeAsync(client, Token);
        await CheckRoutesAsync(http);
        await AskOnceAsync(server, http, new BoundCases(plant, TimeSpan.FromMilliseconds(100)));
        // What that took for a moment is given back in a quiet one.
        await Eventually.PassedAsync(TimeSpan.FromSeconds(15));
        long before = await ResidentAsync(http);

        await using var honest = new HonestPair(server.Address);
        await Eventually.TrueAsync(() => honest.Received > 10, "The honest pair should have begun.");
        using (var ending = CancellationTokenSource.CreateLinkedTokenSource(Token))
        {
            ending.CancelAfter(TimeSpan.FromSeconds(seconds));
            await DriveAsync(server, new BoundCases(plant, TimeSpan.FromSeconds(20)), ending.Token);
        }

        await honest.StopSendingAsync();
        await Eventually.TrueAsync(() => honest.Received == honest.Sent, "Everything that was sent should come.");
        Assert.Null(honest.Fault);
        Assert.True(
            honest.PercentileMs(0.99) < 2_000,
            $"p50 {honest.PercentileMs(0.5)}, p99 {honest.PercentileMs(0.99)}, most {honest.PercentileMs(1)} ms");
        int fault = server.Error.IndexOf("OutOfMemory", StringComparison.Ordinal);
        Assert.True(fault < 0, fault < 0 ? "" : server.Error[Math.Max(0, fault - 500)..][..3_000]);
        long after = 0;
        // Seldom asked: each answer takes memory, and many are not the quiet that it waits for.
        for (int i = 0; i < 30 && (i == 0 || after - before >= 100 << 20); i++)
        {
            await Eventually.PassedAsync(TimeSpan.FromSeconds(2));
            after = await ResidentAsync(http);
        }

        Assert.True(after - before < 100 << 20, $"Resident {before >> 20} before, {after >> 20} MiB after.");
        TestContext.Current.TestOutputHelper?.WriteLine(
            $"{honest.Sent} sent, p50 {honest.PercentileMs(0.5):F1}, p99 {honest.PercentileMs(0.99):F1}, most "
            + $"{honest.PercentileMs(1):F1} ms, resident {before >> 20} before, {after >> 20} MiB after");
        Assert.Equal(0, await server.StopAsync());
    }

    [Fact]
    public void GivenTheOperations_WhenHeldAgainstTheCases_ThenEachIsDriven() =>
        Assert.Equal(Enum.GetValues<Opcode>().Order(), new BoundCases(null!, default).All.Keys.Order());

    /// <summary>One connection after the other, each with a case, which must be answered as it says: a case that the
    /// server refuses drives nothing. What they need anyway is there afterwards.</summary>
    private static async Task AskOnceAsync(ServerProcess server, HttpClient http, BoundCases cases)
    {
        var wrong = new List<string>();
        foreach ((Opcode operation, Func<BoundRequest[]> make) in cases.All)
        {
            BoundRequest[] requests = make();
            using var peer = new BoundPeer();
            ErrorCode[] answers = await peer.AskAsync(
                server.Address, [cases.Hello(), .. requests.Select(request => request.Bytes)], Token);
            ErrorCode[] expected = [ErrorCode.None, .. requests.Select(request => request.Expected)];
            if (!expected.SequenceEqual(answers))
                wrong.Add($"{operation}: expected {string.Join(' ', expected)}, came {string.Join(' ', answers)}");
        }

        foreach (string route in BoundRoutes.All.Keys)
        {
            using HttpRequestMessage request = BoundRoutes.RequestOf(route);
            using HttpResponseMessage answer = await http.SendAsync(
                request, HttpCompletionOption.ResponseHeadersRead, Token);
            if (!answer.IsSuccessStatusCode)
                wrong.Add($"{route}: {(int)answer.StatusCode} {await answer.Content.ReadAsStringAsync(Token)}");
        }

        Assert.True(wrong.Count == 0, string.Join('\n', wrong));
    }

    /// <summary>Connections that come and go, each with the next case; nobody takes an answer.</summary>
    private static async Task DriveAsync(ServerProcess server, BoundCases cases, CancellationToken ending)
    {
        Func<BoundRequest[]>[] operations = [.. cases.All.Values];
        string[] routes = [.. BoundRoutes.All.Keys];
        int turn = 0;
        async Task RunAsync(int number)
        {
            while (!ending.IsCancellationRequested)
            {
                int next = Interlocked.Increment(ref turn);
                using var peer = new BoundPeer();
                var hold = TimeSpan.FromMilliseconds(3_000 + (number * 13 % 1_000));
                if (number % 8 == 0)
                {
                    await peer.RunAsync(
                        server.Admin, [BoundRoutes.Of(routes[next % routes.Length], server.Admin)], hold, ending);
                }
                else
                {
                    BoundRequest[] requests = operations[next % operations.Length]();
                    await peer.RunAsync(
                        server.Address, [cases.Hello(), .. requests.Select(request => request.Bytes)], hold, ending);
                }
            }
        }

        await Task.WhenAll(Enumerable.Range(0, Connections).Select(number => Task.Run(() => RunAsync(number), Token)));
    }

    /// <summary>Every route has a case, and every case is of a route that is.</summary>
    private static async Task CheckRoutesAsync(HttpClient http)
    {
        JsonNode description = JsonNode.Parse(await http.GetStringAsync("/api/v1/openapi.json", Token))!;
        string[] known =
        [
            .. description["paths"]!.AsObject().SelectMany(path => path.Value!.AsObject()
                .Where(one => one.Key is "get" or "put" or "post" or "patch" or "delete")
                .Select(one => $"{one.Key.ToUpperInvariant()} {path.Key}")),
        ];
        Assert.True(known.Length > 20);
        Assert.Equal(
            known.Union(AdminPaths.Pages.Select(page => $"GET {page}")).Order(StringComparer.Ordinal),
            BoundRoutes.All.Keys.Order(StringComparer.Ordinal));
    }

    private static async Task<long> ResidentAsync(HttpClient http)
    {
        using var stats = JsonDocument.Parse(await http.GetStringAsync("/stats", Token));
        return stats.RootElement.GetProperty("process.residentBytes").GetInt64();
    }
}
