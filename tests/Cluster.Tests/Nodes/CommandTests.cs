using System.Text;
using System.Text.Json;
using EQueue.Broker;
using EQueue.Cli.Tests;
using EQueue.Cluster.Etcd;
using EQueue.Cluster.Tests.Etcd;
using EQueue.MessageStore;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>The commands of clusters, with the nodes that they are for.</summary>
public sealed class CommandTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private static CancellationToken None => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAClusterThatWasCreated_WhenItsNodesStartAndOneStops_ThenTheStatusTellsWhatToDo()
    {
        await using var cluster = TestCluster.New(etcd);
        await DoneAsync(cluster, "create", "--nodes", "a,b,c");
        foreach (TestNode node in cluster.Nodes)
            await node.StartAsync();
        await cluster.SeatsAsync(3);

        JsonElement healthy = await StatusAsync(cluster, status => status.GetProperty("healthy").GetBoolean());
        Assert.Equal("3 of 3 seats: messages are taken. Nothing is to be done.", healthy.GetProperty("summary").GetString());
        Assert.Equal(
            cluster.Leader!.Address,
            healthy.GetProperty("nodes").EnumerateArray()
                .Single(node => node.GetProperty("role").GetString() == "leader").GetProperty("address").GetString());
        CliRun text = await RunAsync(cluster, "status");
        Assert.Equal(0, text.ExitCode);

        CliRun refused = await RunAsync(cluster, "elect", "a", "--accept-loss");
        Assert.Equal(5, refused.ExitCode);
        Assert.Contains("needs no election", refused.Error, StringComparison.Ordinal);

        TestNode gone = cluster.Nodes.First(node => !node.IsServing);
        await gone.StopAsync();
        JsonElement two = await StatusAsync(
            cluster, status => status.GetProperty("takesMessages").GetBoolean() && !status.GetProperty("healthy").GetBoolean());
        Assert.Equal(
            $"2 of 3 seats: node {gone.Name} is not there; messages are taken. Start node {gone.Name}.",
            two.GetProperty("summary").GetString());
        Assert.Equal(1, (await RunAsync(cluster, "status")).ExitCode);
    }

    [Fact]
    [Follows("start the server with its Cluster:Node and Cluster:Etcd", "'equeue cluster adopt' makes it")]
    public async Task GivenABrokersDirectory_WhenItIsAdopted_ThenItServesTheSameAndOthersJoin()
    {
        await using var cluster = TestCluster.New(etcd);
        TestNode a = cluster.Nodes[0];
        string[] before = await PlantAsync(a.Directory);
        Guid store = LogInspector.Open(a.Directory).StoreId;
        string audit = Path.Combine(a.Directory, "audit.log");
        await File.WriteAllTextAsync(audit, "whole\n", None);
        await Assert.ThrowsAsync<StoreFormatException>(a.StartAsync);

        CliRun run = await DoneAsync(cluster, "adopt", "--data", a.Directory, "--node", "a", "--nodes", "a,b,c");

        Assert.Contains($"--data {a.Directory} --listen 127.0.0.1:9490", run.OutputText, StringComparison.Ordinal);
        Assert.Equal("whole\n", await File.ReadAllTextAsync(audit, None));
        Assert.False(Directory.Exists(Path.Combine(a.Directory, "logs")));
        StoreFormatException refusal = await Assert.ThrowsAsync<StoreFormatException>(() => BrokerAsync(a.Directory));
        Assert.Contains("Cluster:Node", refusal.Message, StringComparison.Ordinal);

        await a.StartAsync();
        await Eventually.TrueAsync(() => a.IsServing);
        Assert.Equal(before, await LookAsync(a.Address));
        Assert.Equal(store, (await cluster.Shard.ReadAsync(None))!.Cluster.StoreId);
        await SendAsync(a.Address, 10);
        await cluster.Nodes[1].StartAsync();
        await cluster.Nodes[2].StartAsync();
        await cluster.SeatsAsync(3);
        Assert.Equal(store, LogInspector.Open(cluster.Nodes[2].ShardDirectory).StoreId);
    }

    [Fact]
    public async Task GivenAnAdoptedCluster_WhenItsNodeStartsOnAnotherDirectory_ThenNoSecondLogBegins()
    {
        await using var cluster = TestCluster.New(etcd);
        TestNode a = cluster.Nodes[0];
        using var other = new TempDirectory();
        await PlantAsync(other["data"]);
        await DoneAsync(cluster, "adopt", "--data", other["data"], "--node", "a", "--nodes", "a,b,c");

        await a.StartAsync();

        await Eventually.TrueAsync(() => cluster.Log.Any(line => line.Line.Text.Contains("no other node leads", StringComparison.Ordinal)));
        Assert.False(a.IsServing);
    }

    [Fact]
    [Follows("run 'equeue cluster adopt' on it again, with the same options")]
    public async Task GivenAnAdoptionThatIsKilledAtAnyStep_WhenItIsRunAgain_ThenNothingIsLostAndNothingElseOpensMeanwhile()
    {
        using var template = new TempDirectory();
        await PlantAsync(template["data"]);
        (string, long)[] files = FilesOf(template["data"]);
        int steps = 0;
        for (bool isWhole = false; !isWhole; steps++)
        {
            await using var cluster = TestCluster.New(etcd);
            string data = cluster.Nodes[0].Directory;
            Copy(template["data"], data);
            isWhole = await TryAdoptAsync(cluster, data, steps);
            bool hasBegun = File.Exists(Path.Combine(data, "adopting"));
            if (hasBegun)
            {
                StoreFormatException refusal = await Assert.ThrowsAsync<StoreFormatException>(() => BrokerAsync(data));
                Assert.Contains("run 'equeue cluster adopt' on it again", refusal.Message, StringComparison.Ordinal);
                await Assert.ThrowsAsync<StoreFormatException>(cluster.Nodes[0].StartAsync);
                CliRun other = await RunAsync(cluster, "adopt", "--data", data, "--node", "b", "--nodes", "a,b,c");
                Assert.Equal(1, other.ExitCode);
                Assert.Contains("--node a --nodes a,b,c", other.Error, StringComparison.Ordinal);
            }

            // Killed while the marker's end was made durable, all is done.
            bool isMoved = File.Exists(Path.Combine(data, "shards", "0", "store"));
            if (hasBegun || !isMoved)
                await DoneAsync(cluster, "adopt", "--data", data, "--node", "a", "--nodes", "a,b,c");
            Assert.Equal(files, FilesOf(Path.Combine(data, "shards", "0")));
            Assert.False(File.Exists(Path.Combine(data, "adopting")));
            ClusterView view = (await cluster.Shard.ReadAsync(None))!;
            Assert.Equal(LogInspector.Open(Path.Combine(data, "shards", "0")).LogId, view.Cluster.LogId);
            Assert.Equal("a", Assert.Single(view.Shard.State!.Seats).Node);
        }

        Assert.True(steps > 15, $"{steps}");
    }

    [Fact]
    [Follows("start a broker on the directory as before and stop it in order")]
    public async Task GivenABrokerThatRunsOrDidNotStopInOrder_WhenItsDirectoryIsAdopted_ThenItIsRefusedAndUnchanged()
    {
        await using var cluster = TestCluster.New(etcd);
        string data = cluster.Nodes[0].Directory;
        string[] adopt = ["adopt", "--data", data, "--node", "a", "--nodes", "a,b,c"];
        await using (EQueueBroker broker = await BrokerAsync(data))
        {
            CliRun open = await RunAsync(cluster, adopt);
            Assert.Equal(5, open.ExitCode);
            Assert.Contains("stop the broker", open.Error, StringComparison.Ordinal);
        }

        File.Delete(Path.Combine(data, "clean"));
        CliRun torn = await RunAsync(cluster, adopt);
        Assert.Equal(6, torn.ExitCode);
        Assert.Contains("start a broker on the directory as before and stop it in order", torn.Error, StringComparison.Ordinal);
        Assert.Equal(
            3, (await RunAsync(cluster, "adopt", "--data", data + "-none", "--node", "a", "--nodes", "a,b")).ExitCode);
        await using (EQueueBroker broker = await BrokerAsync(data))
        {
            // Starts and stops as it is told to.
        }

        await DoneAsync(cluster, adopt);
    }

    [Fact]
    public async Task GivenTwoOfThreeDirectoriesLost_WhenTheThirdIsElected_ThenItServesWhatItHasAndTheOthersCopyIt()
    {
        await using TestCluster cluster = await TestCluster.StartAsync(etcd);
        await cluster.SeatsAsync(3);
        await SendAsync(cluster.Leader!.Address, 50);
        TestNode[] lost = [.. cluster.Nodes.Where(node => node.IsServing), cluster.Nodes.First(node => !node.IsServing)];
        TestNode left = cluster.Nodes.Except(lost).Single();
        foreach (TestNode node in lost)
        {
            await node.StopAsync();
            if (node == lost[0])
                await cluster.SeatsAsync(2);
            Directory.Delete(node.ShardDirectory, recursive: true);
        }

        JsonElement stuck = await StatusAsync(cluster, status => !status.GetProperty("takesMessages").GetBoolean());
        Assert.Contains("no messages are taken", stuck.GetProperty("summary").GetString(), StringComparison.Ordinal);
        int epoch = (await cluster.Shard.ReadAsync(None))!.Shard.State!.Epoch;
        CliRun told = await RunAsync(cluster, "elect", left.Name);
        Assert.Equal(2, told.ExitCode);
        Assert.Contains("it has everything that was acknowledged", told.Error, StringComparison.Ordinal);

        CliRun done = await DoneAsync(cluster, "elect", left.Name, "--accept-loss");

        Assert.Contains("alone holds a seat", done.OutputText, StringComparison.Ordinal);
        await Eventually.TrueAsync(async () =>
            left.IsServing && (await cluster.Shard.ReadAsync(None))!.Shard.State!.Epoch >= epoch + 2);
        Assert.Equal(50, (await ReadAsync(left.Address, 50)).Length);
        foreach (TestNode node in lost)
            await node.StartAsync();
        await cluster.SeatsAsync(3);
        Assert.True((await StatusAsync(cluster, status => status.GetProperty("healthy").GetBoolean()))
            .GetProperty("takesMessages").GetBoolean());
    }

    /// <summary>A directory with topics, messages and a group's progress, closed in order; and how it looks.</summary>
    private static async Task<string[]> PlantAsync(string data)
    {
        await using EQueueBroker broker = await BrokerAsync(data);
        string address = HostPort.Format(broker.EndPoint);
        await SendAsync(address, 40);
        foreach (string place in (string[])["begin", "offset:3"])
        {
            CliRun reset = await CliRun.RunAsync(
                "group", "reset", $"group-{place[0]}", "--topic", "orders", "--to", place, "--server", address);
            Assert.Equal(0, reset.ExitCode);
        }

        return await LookAsync(address);
    }

    private static Task<EQueueBroker> BrokerAsync(string data) => EQueueBroker.StartAsync(
        new BrokerOptions
        {
            Listen = "127.0.0.1:0",
            DataDirectory = data,
            Store = new StoreOptions { DataDirectory = data, SegmentSizeBytes = 16 << 20 },
        },
        cancellationToken: None);

    /// <summary>Queues with their offsets, and groups with their progress.</summary>
    private static async Task<string[]> LookAsync(string address)
    {
        var seen = new List<string>();
        foreach (string[] words in (string[][])
            [["topic", "describe", "orders"], ["group", "lag", "group-b"], ["group", "lag", "group-o"]])
        {
            CliRun run = await CliRun.RunAsync([.. words, "--server", address]);
            Assert.True(run.ExitCode == 0, run.Error);
            // The last cell of a group's row is an age.
            seen.AddRange(run.OutputLines.Select(line => words[0] == "group" ? line[..line.LastIndexOf('\t')] : line));
        }

        return [.. seen];
    }

    private static async Task SendAsync(string address, int count)
    {
        await using var client = new EQueueClient(new ClientOptions { Addresses = address });
        await using Producer producer = client.CreateProducer();
        for (int i = 0; i < count; i++)
            await producer.SendAsync("orders", Encoding.UTF8.GetBytes($"message {i}"));
    }

    private static async Task<string[]> ReadAsync(string address, int count)
    {
        await using var client = new EQueueClient(new ClientOptions { Addresses = address });
        await using QueueReader reader = client.CreateReader();
        await reader.AssignAllAsync("orders", StartPosition.Begin);
        var bodies = new List<string>();
        await foreach (ReceivedMessage message in reader.ReadAllAsync(None))
        {
            bodies.Add(Encoding.UTF8.GetString(message.Body.Span));
            if (bodies.Count == count)
                break;
        }

        return [.. bodies.Distinct()];
    }

    private Task<CliRun> RunAsync(TestCluster cluster, params string[] arguments) => CliRun.RunAsync(
        ["cluster", .. arguments, "--name", cluster.Name, "--etcd", etcd.Process.Address.GetLeftPart(UriPartial.Authority)]);

    private async Task<CliRun> DoneAsync(TestCluster cluster, params string[] arguments)
    {
        CliRun run = await RunAsync(cluster, arguments);
        Assert.True(run.ExitCode == 0, $"{string.Join(' ', arguments)}: {run.ExitCode} {run.Error}");
        return run;
    }

    private async Task<JsonElement> StatusAsync(TestCluster cluster, Func<JsonElement, bool> holds)
    {
        JsonElement status = default;
        await Eventually.TrueAsync(async () =>
        {
            CliRun run = await RunAsync(cluster, "status", "--json");
            status = JsonDocument.Parse(run.OutputText).RootElement;
            return holds(status);
        });
        return status;
    }

    /// <summary>Runs an adoption that ends as a killed process does, before one of its steps.</summary>
    private static async Task<bool> TryAdoptAsync(TestCluster cluster, string data, int steps)
    {
        try
        {
            using var adoption = DirectoryAdoption.Open(
                data, cluster.Name, "a", ["a", "b", "c"], isSync: true, TimeProvider.System, new DyingDisk(steps));
            adoption.Move();
            Assert.True(await cluster.Shard.CreateAsync(adoption.Record, ["a", "b", "c"], adoption.State, None));
            adoption.Finish();
            return true;
        }
        catch (KilledException)
        {
            return false;
        }
    }

    private static void Copy(string from, string to)
    {
        foreach (string file in Directory.EnumerateFiles(from, "*", SearchOption.AllDirectories))
        {
            string target = Path.Combine(to, Path.GetRelativePath(from, file));
            Directory.CreateDirectory(Path.GetDirectoryName(target)!);
            File.Copy(file, target);
        }
    }

    /// <summary>A store's files but those of locks and of replicas.</summary>
    private static (string Name, long Size)[] FilesOf(string directory) =>
    [
        .. Directory.EnumerateFiles(directory, "*", SearchOption.AllDirectories)
            .Where(file => Path.GetFileName(file) is not ("lock" or "replica"))
            .Select(file => (Path.GetRelativePath(directory, file), new FileInfo(file).Length)).Order(),
    ];
}
