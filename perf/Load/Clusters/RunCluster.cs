using EQueue.Load.Limit;
using EQueue.Load.Roles;
using EQueue.Load.Scenarios;

namespace EQueue.Load.Clusters;

/// <summary>Three nodes of one run, a process each with a fresh directory, and an etcd.</summary>
internal sealed class RunCluster : IAsyncDisposable
{
    private static readonly string[] Names = ["a", "b", "c"];
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(120);
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(200);

    private readonly RoleProcess _etcd;
    private readonly string _etcdAddress;
    private readonly string _directory;
    private readonly FlushMode _flush;
    private readonly List<Node> _nodes = [];

    private RunCluster(RoleProcess etcd, string etcdAddress, string directory, FlushMode flush) =>
        (_etcd, _etcdAddress, _directory, _flush) = (etcd, etcdAddress, directory, flush);

    /// <summary>Where its nodes listen.</summary>
    public string Server => string.Join(',', _nodes.Select(node => node.Address));

    /// <summary>Starts all, and waits until every node has a seat.</summary>
    public static async Task<RunCluster> StartAsync(
        LoadSession session, FlushMode flush, CancellationToken cancellationToken)
    {
        string directory = session.Workspace.NewPath("cluster");
        Directory.CreateDirectory(directory);
        RoleProcess etcd = session.Start(RoleList.Etcd);
        string address = await etcd.CallAsync<string>("start", Path.Combine(directory, "etcd"), cancellationToken);
        var cluster = new RunCluster(etcd, address, directory, flush);
        await cluster.CommandAsync(
            ["create", "--nodes", string.Join(',', Names), "--flush", NameOf(flush)], cancellationToken);
        foreach (string name in Names)
        {
            var node = new Node(name, session.Start(RoleList.Server));
            cluster._nodes.Add(node);
            await cluster.StartNodeAsync(node, cancellationToken);
        }

        await cluster.HealthyAsync(cancellationToken);
        return cluster;
    }

    /// <summary>Waits until messages are taken and every node has a seat.</summary>
    public async Task<ClusterState> HealthyAsync(CancellationToken cancellationToken)
    {
        long started = TimeProvider.System.GetTimestamp();
        while (true)
        {
            ClusterState state = await StateAsync(cancellationToken);
            if (state.IsHealthy)
                return state;
            if (TimeProvider.System.GetElapsedTime(started) > Patience)
                throw LoadException.Failed($"the cluster is not whole after {Patience.TotalSeconds} s: {state}");
            await Task.Delay(PollInterval, cancellationToken);
        }
    }

    /// <summary>Asks once how it is.</summary>
    public async Task<ClusterState> StateAsync(CancellationToken cancellationToken) =>
        ClusterState.Read(await CommandAsync(["status", "--json"], cancellationToken));

    public int ProcessIdOf(string name) => Find(name).ProcessId;

    /// <summary>The directory of a node's log.</summary>
    public string StoreOf(string name) => Path.Combine(DirectoryOf(name), "shards", "0");

    /// <summary>The nodes but one.</summary>
    public static IEnumerable<string> Others(string name) => Names.Where(other => other != name);

    /// <summary>Does to a node what the fault is.</summary>
    /// <returns>Completes when the process has ended; at once for one that is paused.</returns>
    public Task HurtAsync(string name, NodeFault fault, CancellationToken cancellationToken)
    {
        Node node = Find(name);
        if (fault == NodeFault.Pause)
        {
            LinuxCalls.Signal(node.ProcessId, LinuxCalls.SignalStop);
            return Task.CompletedTask;
        }

        LinuxCalls.Signal(node.ProcessId, fault == NodeFault.Kill ? LinuxCalls.SignalKill : LinuxCalls.SignalTerm);
        return node.Process.CallAsync("wait", null, cancellationToken);
    }

    /// <summary>Ends the fault: the node runs again, at the same address.</summary>
    public async Task HealAsync(string name, NodeFault fault, CancellationToken cancellationToken)
    {
        Node node = Find(name);
        if (fault == NodeFault.Pause)
            LinuxCalls.Signal(node.ProcessId, LinuxCalls.SignalContinue);
        else
            await StartNodeAsync(node, cancellationToken);
    }

    public async ValueTask DisposeAsync()
    {
        foreach (Node node in _nodes)
            await node.Process.DisposeAsync();
        await _etcd.DisposeAsync();
        Workspace.Remove(_directory);
    }

    private static string NameOf(FlushMode flush) => flush.ToString().ToLowerInvariant();

    private Node Find(string name) => _nodes.First(node => node.Name == name);

    private string DirectoryOf(string name) => Path.Combine(_directory, name);

    private async Task StartNodeAsync(Node node, CancellationToken cancellationToken)
    {
        var order = new ServerOrder(DirectoryOf(node.Name), _flush)
        {
            HasAdmin = true,
            Listen = node.Address,
            More = ["--Cluster:Node", node.Name, "--Cluster:Etcd", _etcdAddress],
        };
        ServerResult started = await node.Process.CallAsync<ServerResult>("start", order, cancellationToken);
        (node.Address, node.ProcessId) = (started.Server, started.ProcessId);
    }

    /// <summary>Runs a command of <c>equeue cluster</c>.</summary>
    /// <returns>What it printed.</returns>
    private async Task<string> CommandAsync(string[] arguments, CancellationToken cancellationToken)
    {
        await using var command = ChildProcess.Start(
            BuiltProgram.NewStart("Cli", ["cluster", .. arguments, "--etcd", _etcdAddress]), "equeue");
        string output = await command.Process.StandardOutput.ReadToEndAsync(cancellationToken);
        await command.Process.WaitForExitAsync(cancellationToken);
        return output.Length > 0
            ? output
            : throw LoadException.Failed($"equeue cluster {string.Join(' ', arguments)}{command.ErrorText()}");
    }

    private sealed class Node(string name, RoleProcess process)
    {
        public string Name { get; } = name;

        public RoleProcess Process { get; } = process;

        public string? Address { get; set; }

        public int ProcessId { get; set; }
    }
}

/// <summary>What happens to a node.</summary>
internal enum NodeFault
{
    /// <summary>kill -9.</summary>
    Kill,

    /// <summary>SIGSTOP: it is there and does nothing.</summary>
    Pause,

    /// <summary>SIGTERM: it stops in order.</summary>
    Stop,
}
