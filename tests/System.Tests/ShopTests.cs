using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Runtime.InteropServices;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The shop of the samples, stopped again and again: each stop is short, no order is lost, none is shipped
/// twice.</summary>
public sealed class ShopTests : IDisposable
{
    /// <summary>The shop's own bounds add up to 5 s, which a long run on a quiet machine holds it to; otherwise what
    /// hosts allow.</summary>
    private static readonly TimeSpan LongestStop = TimeSpan.FromSeconds(
        Environment.GetEnvironmentVariable("EQUEUE_SHOP_STOPS") is null ? 30 : 5);

    private readonly ConcurrentDictionary<string, bool> _accepted = new(StringComparer.Ordinal);
    private readonly HttpClient _http = new() { Timeout = TimeSpan.FromMinutes(1) };
    private readonly List<TimeSpan> _stops = [];
    private int _lastOrder;

    public void Dispose() => _http.Dispose();

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private static int Stops => LongRun.Length("EQUEUE_SHOP_STOPS", 3, 25);

    [Fact]
    public async Task GivenAShopUnderLoad_WhenItIsStoppedAgainAndAgain_ThenNoOrderIsLostAndNoneIsShippedTwice()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--admin", "127.0.0.1:0");
        string shipped = directory["shipped.txt"];
        for (int i = 0; i < Stops; i++)
            await StopWhileItShipsAsync(server.Address, shipped);

        for (int i = 0; i < Math.Max(2, Stops / 5); i++)
            await StopWhileTheBrokerIsAwayAsync(server, shipped);

        await using (Shop shop = await Shop.StartAsync(server.Address, shipped))
        {
            await DrainAsync(server.Address, shipped);
            await shop.StopAsync();
        }

        string[] orders = await File.ReadAllLinesAsync(shipped, Token);
        Assert.Equal([], orders.GroupBy(static order => order).Where(static some => some.Count() > 1)
            .Select(static some => $"{some.Key} was shipped {some.Count()} times"));
        Assert.Equal([], _accepted.Keys.Except(orders));
        TestContext.Current.TestOutputHelper?.WriteLine(
            $"Stops in seconds: {string.Join(' ', _stops.Select(static stop => $"{stop.TotalSeconds:0.0}"))}; "
            + $"{orders.Length} orders.");
        Assert.InRange(_stops.Max(), TimeSpan.Zero, LongestStop);
    }

    private async Task StopWhileItShipsAsync(string address, string shipped)
    {
        await using Shop shop = await Shop.StartAsync(address, shipped);
        using var enough = new CancellationTokenSource();
        Task[] customers = [.. Enumerable.Range(0, 4).Select(_ => OrderAsync(shop, enough.Token))];
        int before = CountOf(shipped);
        await Eventually.TrueAsync(() => CountOf(shipped) > before + 10);
        _stops.Add(await shop.StopAsync());
        await enough.CancelAsync();
        await Task.WhenAll(customers);
    }

    private async Task StopWhileTheBrokerIsAwayAsync(ServerProcess server, string shipped)
    {
        await using Shop shop = await Shop.StartAsync(server.Address, shipped);
        using var enough = new CancellationTokenSource();
        Task[] customers = [.. Enumerable.Range(0, 4).Select(_ => OrderAsync(shop, enough.Token))];
        int before = _accepted.Count;
        await Eventually.TrueAsync(() => _accepted.Count > before + 10);
        await enough.CancelAsync();
        await Task.WhenAll(customers);
        await DrainAsync(server.Address, shipped);
        await server.StopAsync();
        Task pending = OrderOnceAsync(shop);
        await shop.ReadUntilAsync("cannot be reached");
        _stops.Add(await shop.StopAsync());
        await pending;
        await server.RestartAsync();
    }

    /// <summary>A customer: an order is accepted or not; of one without an answer nobody knows.</summary>
    private async Task OrderAsync(Shop shop, CancellationToken enough)
    {
        // Four customers order a little less than three workers ship: what is left over at the end is soon shipped.
        using var pace = new PeriodicTimer(TimeSpan.FromMilliseconds(40));
        while (!enough.IsCancellationRequested && await OrderOnceAsync(shop))
            await pace.WaitForNextTickAsync(Token);
    }

    private async Task<bool> OrderOnceAsync(Shop shop)
    {
        string order = $"order-{Interlocked.Increment(ref _lastOrder)}";
        try
        {
            using HttpResponseMessage answer = await _http.PostAsync(
                new Uri($"{shop.Address}/orders/{order}"), content: null, Token);
            if (answer.StatusCode != HttpStatusCode.Accepted)
                return false;
            _accepted[order] = true;
            return true;
        }
        catch (HttpRequestException)
        {
            return false;
        }
    }

    /// <summary>Until every accepted order is shipped, and the group has committed all.</summary>
    private async Task DrainAsync(string address, string shipped)
    {
        await Eventually.TrueAsync(() => !_accepted.Keys.Except(ReadShipped(shipped)).Any());
        await using var client = new EQueueClient(address);
        await Eventually.TrueAsync(async () =>
        {
            GroupDescription group = await client.Admin.DescribeGroupAsync("shipping", withAges: false);
            return group.Queues.Count > 0 && group.Queues.Sum(static queue => queue.Lag) == 0;
        });
    }

    private static int CountOf(string shipped) => ReadShipped(shipped).Length;

    private static string[] ReadShipped(string shipped) => File.Exists(shipped) ? File.ReadAllLines(shipped) : [];

    private sealed class Shop : IAsyncDisposable
    {
        private readonly ProgramRun _run;

        private Shop(ProgramRun run) => _run = run;

        public string Address { get; private set; } = "";

        public static async Task<Shop> StartAsync(string broker, string shipped)
        {
            var shop = new Shop(ProgramRun.Start(
                "Shop", ["--Broker", broker, "--Shipped", shipped, "--urls", "http://127.0.0.1:0"]));
            string line = await shop.ReadUntilAsync("Now listening on: ");
            shop.Address = line[line.IndexOf("http://", StringComparison.Ordinal)..].Trim();
            return shop;
        }

        /// <summary>Reads what it logs up to a line with this text.</summary>
        public async Task<string> ReadUntilAsync(string text)
        {
            using var late = new CancellationTokenSource(TimeSpan.FromMinutes(2));
            while (await _run.OutputReader.ReadLineAsync(late.Token) is { } line)
            {
                if (line.Contains(text, StringComparison.Ordinal))
                    return line;
            }

            throw new InvalidOperationException($"The shop ended without '{text}': {_run.Error}");
        }

        /// <summary>Stops it by SIGTERM.</summary>
        /// <returns>How long it took.</returns>
        public async Task<TimeSpan> StopAsync()
        {
            long began = Stopwatch.GetTimestamp();
            _run.Signal(PosixSignal.SIGTERM);
            Task rest = _run.OutputReader.ReadToEndAsync();
            Assert.Equal(0, await _run.WaitForExitAsync());
            TimeSpan took = Stopwatch.GetElapsedTime(began);
            await rest;
            return took;
        }

        public ValueTask DisposeAsync() => _run.DisposeAsync();
    }
}
