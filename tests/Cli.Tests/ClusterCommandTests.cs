using System.Text.Json;
using EQueue.Cluster.Etcd;
using EQueue.Cluster.Tests.Etcd;
using EQueue.Replication;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>The commands of clusters with a real etcd, and nodes that are not there.</summary>
public sealed class ClusterCommandTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private readonly string _name = $"t{Guid.NewGuid():n}";

    private static CancellationToken None => TestContext.Current.CancellationToken;

    private EtcdShard Shard => new(etcd.Client, _name, node: null);

    [Fact]
    public async Task GivenNoCluster_WhenOneIsCreated_ThenItStandsInEtcdAndEachNodesStartIsPrinted()
    {
        CliRun run = await RunAsync("create", "--nodes", "a,b,c", "--flush", "async");

        Assert.Equal((ExitCode.Done, ""), (run.ExitCode, run.Error));
        ClusterView view = (await Shard.ReadAsync(None))!;
        Assert.Equal(["a", "b", "c"], view.Nodes);
        Assert.False(view.Cluster.IsSync);
        Assert.Null(view.Shard.State);
        string[] starts = [.. run.OutputLines.Where(line => line.StartsWith("  equeue-server ", StringComparison.Ordinal))];
        Assert.Equal(
            "  equeue-server --data data-b --listen 127.0.0.1:9492 --admin 127.0.0.1:9493 --flush async "
            + $"--Cluster:Node b --Cluster:Etcd {Address} --Cluster:Name {_name}",
            starts[1]);
        Assert.Equal(3, starts.Length);
    }

    [Fact]
    public async Task GivenACluster_WhenAnotherOfItsNameIsCreated_ThenTheFirstStaysAndIsNamed()
    {
        JsonElement created = await JsonAsync(ExitCode.Done, "create", "--nodes", "a,b,c");

        CliRun run = await RunAsync("create", "--nodes", "x");

        Assert.Equal(ExitCode.Failed, run.ExitCode);
        Assert.Contains("a, b, c", run.Error, StringComparison.Ordinal);
        Assert.Contains($"next: equeue cluster status --etcd {Address} --name {_name}", run.Error, StringComparison.Ordinal);
        ClusterView view = (await Shard.ReadAsync(None))!;
        Assert.Equal(created.GetProperty("clusterId").GetGuid(), view.Cluster.ClusterId);
        Assert.True(view.Cluster.IsSync);
    }

    [Fact]
    public async Task GivenNoEtcd_WhenAClusterIsCreatedOrShown_ThenTheCommandsSayThatItIsNotReached()
    {
        foreach (string[] command in (string[][])[["create", "--nodes", "a"], ["status"]])
        {
            CliRun run = await CliRun.RunAsync(["cluster", .. command, "--etcd", "http://127.0.0.1:1", "--json"]);

            Assert.Equal(ExitCode.Unreachable, run.ExitCode);
            JsonElement error = JsonDocument.Parse(run.Error).RootElement.GetProperty("error");
            Assert.Equal("Unreachable", error.GetProperty("code").GetString());
            Assert.Contains("http://127.0.0.1:1", error.GetProperty("message").GetString(), StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("--nodes", "a,,c")]
    [InlineData("--nodes", "a,b c")]
    [InlineData("--nodes", "a,b,a")]
    [InlineData("--nodes", "a", "--flush", "often")]
    [InlineData("--nodes", "a", "--etcd", "127.0.0.1:2379")]
    [InlineData("--nodes", "a", "--name", "a/b")]
    [InlineData("--nodes", "a", "--etcd-user", "root")]
    [InlineData]
    public async Task GivenWrongWords_WhenAClusterIsCreated_ThenTheyAreRefused(params string[] words)
    {
        CliRun run = await CliRun.RunAsync(["cluster", "create", .. words]);

        Assert.Equal(ExitCode.Usage, run.ExitCode);
    }

    [Fact]
    public async Task GivenNoCluster_WhenItsStatusIsAsked_ThenItIsNotFound()
    {
        CliRun run = await RunAsync("status");

        Assert.Equal(ExitCode.NotFound, run.ExitCode);
        Assert.Contains("next: ", run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAClusterThatHasNotBegun_WhenItsStatusIsAsked_ThenItSaysWhichNodeToStart()
    {
        await RunAsync("create", "--nodes", "a,b,c");

        CliRun run = await RunAsync("status");

        Assert.Equal(ExitCode.Failed, run.ExitCode);
        Assert.Contains("a\t-\t-\tnever started\t-", run.OutputLines);
        Assert.EndsWith("Start node a, which begins it.", run.OutputLines[^1], StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenSeatsThatDoNotAnswer_WhenTheStatusIsAsked_ThenItSaysThatNoMessagesAreTaken()
    {
        await BeginAsync("a", "b");

        JsonElement status = await JsonAsync(ExitCode.Failed, "status");

        Assert.False(status.GetProperty("takesMessages").GetBoolean());
        JsonElement first = status.GetProperty("nodes")[0];
        Assert.Equal("leader", first.GetProperty("role").GetString());
        Assert.Equal("connection refused", first.GetProperty("trouble").GetString());
        Assert.Equal(8, first.GetProperty("life").GetString()!.Length);
        Assert.Contains("Start nodes a and b.", status.GetProperty("summary").GetString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenSeatsThatAreGone_WhenANodeIsElected_ThenItAloneHoldsASeatInAnEpochWithoutALeader()
    {
        ShardState before = await BeginAsync("a", "b");

        CliRun told = await RunAsync("elect", "b");
        Assert.Equal(ExitCode.Usage, told.ExitCode);
        Assert.Contains("What only a had is lost", told.Error, StringComparison.Ordinal);
        Assert.Equal(before, (await Shard.ReadAsync(None))!.Shard.State);

        JsonElement done = await JsonAsync(ExitCode.Done, "elect", "b", "--accept-loss");

        Assert.Equal("b", done.GetProperty("elected").GetString());
        ShardView after = (await Shard.ReadAsync(None))!.Shard;
        Assert.Equal((2, null, 1), (after.State!.Epoch, after.State.Leader.Node, after.State.Min));
        Assert.Equal(before.SeatOf("b"), Assert.Single(after.State.Seats));
        Assert.Equal(after.State.Nonce, after.History[2]);
        Assert.Equal(before.Nonce, after.History[1]);
    }

    [Fact]
    public async Task GivenAStateThatChangesMeanwhile_WhenANodeIsElected_ThenTheChangeStays()
    {
        await BeginAsync("a", "b");
        ClusterView seen = (await Shard.ReadAsync(None))!;
        Assert.NotNull(await Shard.ElectAsync(seen, "a", new Nonce(1), None));

        Assert.Null(await Shard.ElectAsync(seen, "b", new Nonce(2), None));
        Assert.NotNull(await Shard.ElectAsync(seen, "a", new Nonce(1), None));

        Assert.Equal("a", Assert.Single((await Shard.ReadAsync(None))!.Shard.State!.Seats).Node);
    }

    [Fact]
    public async Task GivenANodeThatCannotLead_WhenItIsElected_ThenItIsRefused()
    {
        CliRun unborn = await RunAsync("create", "--nodes", "a,b,c");
        Assert.Equal(ExitCode.Done, unborn.ExitCode);
        Assert.Equal(ExitCode.Refused, (await RunAsync("elect", "a", "--accept-loss")).ExitCode);
        await BeginAsync("a");

        Assert.Equal(ExitCode.Refused, (await RunAsync("elect", "c", "--accept-loss")).ExitCode);
        Assert.Equal(ExitCode.NotFound, (await RunAsync("elect", "x", "--accept-loss")).ExitCode);
    }

    private string Address => etcd.Process.Address.GetLeftPart(UriPartial.Authority);

    /// <summary>Nodes that have started once and are gone, the first of them the leader.</summary>
    private async Task<ShardState> BeginAsync(params string[] nodes)
    {
        await RunAsync("create", "--nodes", "a,b,c");
        int port = FreePorts.Take(1)[0];
        var seats = new List<Seat>();
        EtcdShard? first = null;
        foreach (string node in nodes)
        {
            var seat = new Seat(node, new Life((UInt128)Random.Shared.NextInt64(1, long.MaxValue) << 64));
            var shard = new EtcdShard(etcd.Client, _name, node);
            Assert.True(await shard.PutNodeAsync(seat.Life, $"127.0.0.1:{port}", None));
            first ??= shard;
            seats.Add(seat);
        }

        Assert.True(await first!.TryBeginAsync(seats[0], None));
        ShardView view = (await Shard.ReadAsync(None))!.Shard;
        var state = new ShardState(1, seats[0], seats, seats.Count, new Nonce(7));
        TransactionResult done = await first.TransactAsync(
            new Transaction(TransactionKind.Claim, view.Revision, view.State, seats[0], default, state), None);
        Assert.Equal(TransactionOutcome.Succeeded, done.Outcome);
        return state;
    }

    private async Task<JsonElement> JsonAsync(int exitCode, params string[] arguments)
    {
        CliRun run = await RunAsync([.. arguments, "--json"]);
        Assert.True(run.ExitCode == exitCode, $"{run.ExitCode} {run.Error} {run.OutputText}");
        return JsonDocument.Parse(run.OutputText).RootElement;
    }

    private Task<CliRun> RunAsync(params string[] arguments) =>
        CliRun.RunAsync(["cluster", .. arguments, "--etcd", Address, "--name", _name]);
}
