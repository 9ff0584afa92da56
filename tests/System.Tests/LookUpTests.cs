using System.Globalization;
using System.Text;
using System.Text.Json;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>What somebody asks about stored messages and groups, over the command line, also after a kill.</summary>
public sealed class LookUpTests
{
    private const string Topic = "orders";
    private const int Count = 5_000;
    private const int RareEvery = 1_000;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenManyMessages_WhenOneTagIsRead_ThenItAloneComesAndTheRestIsNotSent()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await StartFilledAsync(directory);

        IReadOnlyList<Consumed> rare = await Consumed.ReadAsync(
            server.Address, Topic, "--group", "rare", "--from", "begin", "--tag", "rare");
        long forRare = await FetchedAsync(server);
        IReadOnlyList<Consumed> all = await Consumed.ReadAsync(
            server.Address, Topic, "--group", "all", "--from", "begin");
        long forAll = await FetchedAsync(server) - forRare;

        Assert.Equal(Count / RareEvery, rare.Count);
        Assert.All(rare, message => Assert.Equal("rare", message.Tag));
        Assert.Equal(Count, all.Count);
        Assert.True(forRare * 5 < forAll, $"{forRare} of {forAll} bytes");
        Assert.All(await DescribeAsync(server, "rare"), queue => Assert.Equal(0, queue.GetProperty("lag").GetInt64()));
    }

    [Fact]
    public async Task GivenMessages_WhenAskedForByPlaceKeyTimeOrLast_ThenEachIsFoundAlsoAfterAKill()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await StartFilledAsync(directory);
        await server.KillAsync();
        await server.RestartAsync();

        JsonElement[] ofKey = await FindAsync(server, "--key", "customer-7");
        Assert.Equal(Numbers(7, Count), ofKey.Select(Number));
        int queue = ofKey[3].GetProperty("queue").GetInt32();
        long offset = ofKey[3].GetProperty("offset").GetInt64();
        JsonElement atPlace = Assert.Single(await FindAsync(server, "--queue", $"{queue}", "--offset", $"{offset}"));
        Assert.Equal(Number(ofKey[3]), Number(atPlace));

        JsonElement[] latest = await FindAsync(server, "--last", "10");
        JsonElement[] everything = await FindAsync(server, "--last", $"{Count}");
        Assert.Equal(Enumerable.Range(0, Count), everything.Select(Number).Order());
        Assert.Equal(everything[^10..].Select(Number), latest.Select(Number));
        string time = ofKey[20].GetProperty("storedTime").GetString()!;
        JsonElement[] since = await FindAsync(server, "--key", "customer-7", "--since", time);
        Assert.All(since, message => Assert.True(Time(message) >= Time(ofKey[20])));
        Assert.Contains(Number(ofKey[20]), since.Select(Number));
        Assert.Equal(ofKey.Count(message => Time(message) >= Time(ofKey[20])), since.Length);
        ProgramResult none = await RunAsync(server, "find", Topic, "--queue", "0", "--offset", "999999");
        Assert.Equal(3, none.ExitCode);
    }

    [Fact]
    public async Task GivenAGroupThatReadAll_WhenItIsReset_ThenItGoesOnThereAlsoAfterAKillAndAPreviewChangesNothing()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await StartFilledAsync(directory);
        Assert.Equal(Count, (await ReadAsync()).Count);

        ProgramResult preview = await RunAsync(server, "group", "reset", "billing", "--to", "begin", "--dry-run");
        Assert.True(preview.ExitCode == 0, preview.Error);
        Assert.Empty(await ReadAsync());
        ProgramResult back = await RunAsync(server, "group", "reset", "billing", "--to", "by:-3");
        Assert.True(back.ExitCode == 0, back.Error);
        await server.KillAsync();
        await server.RestartAsync();
        Assert.Equal(4 * 3, (await ReadAsync()).Count);
        ProgramResult begin = await RunAsync(
            server, "group", "reset", "billing", "--topic", Topic, "--queue", "2", "--to", "begin");
        Assert.True(begin.ExitCode == 0, begin.Error);
        IReadOnlyList<Consumed> again = await ReadAsync();
        Assert.Equal(Enumerable.Range(0, again.Count), again.Select(message => (int)message.Offset));
        Assert.All(again, message => Assert.Equal(2, message.Queue));

        ProgramResult deleted = await RunAsync(server, "group", "delete", "billing", "--yes");
        Assert.True(deleted.ExitCode == 0, deleted.Error);
        Assert.Equal(3, (await RunAsync(server, "group", "describe", "billing")).ExitCode);
        Assert.Equal(Count, (await ReadAsync()).Count);

        Task<IReadOnlyList<Consumed>> ReadAsync() =>
            Consumed.ReadAsync(server.Address, Topic, "--group", "billing", "--from", "begin");
    }

    /// <summary>Message i has key customer-(i mod 100), and tag rare where i is a multiple of 1,000; in small batches.</summary>
    private static async Task<ServerProcess> StartFilledAsync(TempDirectory directory)
    {
        ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--flush", "async");
        await using var client = new EQueueClient(server.Address);
        await using Producer producer = client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
        await Task.WhenAll(Enumerable.Range(0, Count).Select(i => producer.SendAsync(
            Topic,
            Encoding.UTF8.GetBytes(i.ToString(CultureInfo.InvariantCulture)),
            $"customer-{i % 100}",
            i % RareEvery == 0 ? "rare" : $"usual-{i % 20}",
            cancellationToken: Token).AsTask()));
        return server;
    }

    private static IEnumerable<int> Numbers(int first, int end) =>
        Enumerable.Range(0, (end - first + 99) / 100).Select(i => first + (i * 100));

    private static async Task<JsonElement[]> FindAsync(ServerProcess server, params string[] arguments)
    {
        ProgramResult found = await RunAsync(server, ["find", Topic, "--json", .. arguments]);
        Assert.True(found.ExitCode == 0, found.Error);
        return [.. found.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(line => JsonDocument.Parse(line).RootElement)];
    }

    private static int Number(JsonElement message) => int.Parse(
        Encoding.UTF8.GetString(message.GetProperty("body").GetBytesFromBase64()), CultureInfo.InvariantCulture);

    private static DateTimeOffset Time(JsonElement message) => message.GetProperty("storedTime").GetDateTimeOffset();

    private static async Task<long> FetchedAsync(ServerProcess server)
    {
        await using var client = new EQueueClient(server.Address);
        return (await client.Admin.ReadFiguresAsync(Token)).Find("broker.fetchedBytes") ?? 0;
    }

    private static async Task<JsonElement[]> DescribeAsync(ServerProcess server, string group)
    {
        ProgramResult described = await RunAsync(server, "group", "describe", group, "--json");
        Assert.True(described.ExitCode == 0, described.Error);
        return [.. JsonDocument.Parse(described.OutputText).RootElement.GetProperty("queues").EnumerateArray()];
    }

    private static Task<ProgramResult> RunAsync(ServerProcess server, params string[] arguments) =>
        ProgramRun.RunAsync("Cli", [.. arguments, "--server", server.Address]);
}
