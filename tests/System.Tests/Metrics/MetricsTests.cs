using System.Text.Json;
using System.Text.RegularExpressions;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The page for Prometheus, as somebody else's parser reads it.</summary>
public sealed partial class MetricsTests
{
    /// <summary>Debian's own interpreter: the one that python3-prometheus-client is installed for.</summary>
    private const string Python = "/usr/bin/python3";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenABrokerUnderLoad_WhenItsPagesAreParsed_ThenAllAreGoodNoCounterFallsAndTheSumsAgree()
    {
        await SkipWithoutParserAsync();
        const int Count = 50_000;
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--admin", "127.0.0.1:0", "--Telemetry:GroupInterval", "100ms");
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };
        await using var client = new EQueueClient(server.Address);
        var load = Task.Run(() => SendAsync(client, "orders", Count), Token);

        List<string> pages = [];
        do
        {
            pages.Add(await SaveAsync(http, directory[$"page-{pages.Count}"]));
        }
        while (!load.IsCompleted && pages.Count < 200);
        await load;
        int read = await ReadAsync(client, "orders", Count / 2);
        await Eventually.TrueAsync(async () =>
            (await http.GetStringAsync("/metrics", Token)).Contains($"\"orders\"}} {Count - read}\n", StringComparison.Ordinal));
        pages.Add(await SaveAsync(http, directory["last"]));

        Page[] parsed = await ParseAsync(pages);
        AssertNoneFalls(parsed);
        Page last = parsed[^1];
        Assert.Equal(Count, last.Find("equeue_store_messages_total"));
        Assert.Equal(
            Count - read,
            last.Find("equeue_group_backlog", ("messaging_consumer_group_name", "billing"), ("messaging_destination_name", "orders")));
        Assert.True(last.Find("equeue_group_lag_seconds") > 0);
        // All but those with which the store opened.
        Assert.InRange(
            last.Find("equeue_store_sync_duration_seconds_count"),
            1,
            last.Find("equeue_store_syncs_total"));
        Assert.Equal("counter", last.Types["equeue_store_messages"]);
        Assert.Equal("histogram", last.Types["equeue_store_write_duration_seconds"]);
        Assert.Equal("gauge", last.Types["equeue_broker_connections"]);
        Assert.True(last.Find("dotnet_process_memory_working_set_bytes") > 1 << 20);
    }

    [Fact]
    public async Task GivenTheDashboard_WhenItsQueriesAreHeldAgainstThePage_ThenEveryMetricIsThere()
    {
        await SkipWithoutParserAsync();
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--admin", "127.0.0.1:0", "--Telemetry:GroupInterval", "100ms");
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };
        await using var client = new EQueueClient(server.Address);
        await client.Admin.CreateTopicAsync("orders", new TopicSettings { MaxBacklogMessages = 1_000 }, Token);
        await SendAsync(client, "orders", 10);
        await ReadAsync(client, "orders", 5);
        await Eventually.TrueAsync(async () => (await http.GetStringAsync("/metrics", Token))
            .Contains("equeue_group_lag_seconds{", StringComparison.Ordinal));
        Page page = (await ParseAsync([await SaveAsync(http, directory["page"])]))[0];
        HashSet<string> names = [.. page.Samples.Select(sample => sample.Name)];

        string[] queries = [.. ReadQueries()];
        Assert.True(queries.Length > 30);
        foreach (string query in queries)
        {
            string[] used = [.. MetricPattern().Matches(LabelPattern().Replace(query, "")).Select(match => match.Value)];
            Assert.True(used.Length > 0, $"no metric in {query}");
            Assert.All(used, name => Assert.True(names.Contains(name), $"{name} of {query} is not on the page"));
        }
    }

    [Fact]
    public async Task GivenAPageOfABroker_WhenAsked_ThenItsTypeIsPrometheusOwn()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--admin", "127.0.0.1:0");
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };
        using HttpResponseMessage answer = await http.GetAsync("/metrics", Token);
        Assert.Equal("text/plain; version=0.0.4; charset=utf-8", answer.Content.Headers.ContentType!.ToString());
        Assert.Contains("\nequeue_broker_connections 0\n", await answer.Content.ReadAsStringAsync(Token), StringComparison.Ordinal);
    }

    private static IEnumerable<string> ReadQueries()
    {
        string root = AppContext.BaseDirectory;
        while (!File.Exists(Path.Combine(root, "EQueue.sln")))
            root = Path.GetDirectoryName(root)!;
        using var board = JsonDocument.Parse(File.ReadAllText(Path.Combine(root, "docs", "grafana-equeue.json")));
        foreach (JsonElement panel in board.RootElement.GetProperty("panels").EnumerateArray())
        {
            foreach (JsonElement target in panel.GetProperty("targets").EnumerateArray())
                yield return target.GetProperty("expr").GetString()!;
        }

        foreach (JsonElement variable in board.RootElement.GetProperty("templating").GetProperty("list").EnumerateArray())
        {
            if (variable.TryGetProperty("definition", out JsonElement query))
                yield return query.GetString()!;
        }
    }

    private static async Task SkipWithoutParserAsync()
    {
        ProgramResult found = await ToolRun.RunAsync(Python, "-c", "import prometheus_client.parser");
        Assert.SkipUnless(
            found.ExitCode == 0,
            "python3-prometheus-client is missing: apt-get install it to have the page read by another implementation.");
    }

    private static async Task<string> SaveAsync(HttpClient http, string path)
    {
        await File.WriteAllBytesAsync(path, await http.GetByteArrayAsync("/metrics", Token), Token);
        return path;
    }

    private static async Task<Page[]> ParseAsync(IReadOnlyList<string> paths)
    {
        string script = Path.Combine(AppContext.BaseDirectory, "Metrics", "read_metrics.py");
        ProgramResult result = await ToolRun.RunAsync(Python, [script, .. paths]);
        Assert.True(result.ExitCode == 0, result.Error);
        return [.. result.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries).Select(Page.Parse)];
    }

    private static void AssertNoneFalls(Page[] pages)
    {
        foreach ((Page before, Page after) in pages.Zip(pages.Skip(1)))
        {
            var later = after.Samples.ToDictionary(sample => sample.Key, sample => sample.Value);
            foreach (Sample sample in before.Samples.Where(sample => before.IsMonotonic(sample)))
            {
                Assert.True(later.TryGetValue(sample.Key, out double value), $"{sample.Key} is gone");
                Assert.True(value >= sample.Value, $"{sample.Key} fell from {sample.Value} to {value}");
            }
        }
    }

    private static async Task SendAsync(EQueueClient client, string topic, int count)
    {
        await using Producer producer = client.CreateProducer();
        for (int i = 0; i < count; i++)
            _ = producer.SendAsync(topic, BitConverter.GetBytes(i).AsSpan(), cancellationToken: Token);
        await producer.FlushAsync(Token);
    }

    private static async Task<int> ReadAsync(EQueueClient client, string topic, int count)
    {
        await using Consumer consumer = client.CreateConsumer("billing", [topic], new ConsumerOptions { AutoCommit = false });
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            if (--count > 0)
                continue;
            await consumer.CommitAsync(message, Token);
            break;
        }

        await consumer.CommitAsync(Token);
        return (int)consumer.GetProgress().Sum(queue => Math.Max(0, queue.Committed.Value));
    }

    [GeneratedRegex(@"\{[^}]*\}|(by|ignoring|on)\s*\([^)]*\)")]
    private static partial Regex LabelPattern();

    [GeneratedRegex(@"\b(equeue|dotnet)_\w+")]
    private static partial Regex MetricPattern();

    private sealed record Sample(string Name, string Labels, double Value)
    {
        public string Key => Name + Labels;
    }

    private sealed record Page(IReadOnlyDictionary<string, string> Types, IReadOnlyList<Sample> Samples)
    {
        public static Page Parse(string line)
        {
            using var json = JsonDocument.Parse(line);
            return new Page(
                json.RootElement.GetProperty("types").EnumerateObject()
                    .ToDictionary(one => one.Name, one => one.Value.GetString()!),
                [
                    .. json.RootElement.GetProperty("samples").EnumerateArray().Select(one => new Sample(
                        one[0].GetString()!,
                        string.Concat(one[1].EnumerateObject().OrderBy(label => label.Name, StringComparer.Ordinal)
                            .Select(label => $"|{label.Name}={label.Value.GetString()}")),
                        one[2].GetDouble())),
                ]);
        }

        public bool IsMonotonic(Sample sample) => Types
            .Where(family => sample.Name.StartsWith(family.Key, StringComparison.Ordinal))
            .MaxBy(family => family.Key.Length).Value is "counter" or "histogram";

        public double Find(string name, params (string Name, string Value)[] labels)
            => Assert.Single(Samples, sample => sample.Name == name
                && labels.All(label => sample.Labels.Contains($"|{label.Name}={label.Value}", StringComparison.Ordinal))).Value;
    }
}
