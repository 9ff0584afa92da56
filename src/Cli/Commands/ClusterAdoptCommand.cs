using System.CommandLine;
using EQueue.Cli.Clusters;
using EQueue.Cli.Connecting;
using EQueue.Cluster;
using EQueue.Cluster.Etcd;
using EQueue.MessageStore;

namespace EQueue.Cli.Commands;

/// <summary><c>cluster adopt</c>.</summary>
internal static class ClusterAdoptCommand
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var etcd = new EtcdOptions();
        var data = new Option<string>("--data")
        {
            Description = "The data directory of a broker that was stopped in order.",
            HelpName = "DIR",
            Required = true,
        };
        var node = new Option<string>("--node")
        {
            Description = "The node whose directory it becomes, one of --nodes.",
            HelpName = "NAME",
            Required = true,
        };
        Option<string[]> nodes = NodeNames.ListOption();
        Option<string> flush = NodeNames.FlushOption();
        var command = new Command(
            "adopt",
            "Makes a stopped broker the first node of a new cluster, with its messages, groups and ids: its files move "
            + "to DIR/shards/0, then the cluster is created in etcd. Interrupted, it continues when it is run again. "
            + "Example: equeue cluster adopt --data /var/lib/equeue --node a --nodes a,b,c")
        {
            data, node, nodes, flush,
        };
        etcd.AddTo(command);
        command.SetAction(async (parsed, cancellationToken) =>
        {
            string[] names = parsed.GetRequiredValue(nodes);
            string first = parsed.GetRequiredValue(node);
            if (!names.Contains(first))
                throw new UsageException($"--node {first} is none of --nodes {string.Join(',', names)}.");
            string directory = Path.GetFullPath(parsed.GetRequiredValue(data));
            bool isSync = NodeNames.IsSync(parsed, flush);
            await using EtcdClient client = etcd.Connect(parsed);
            var shard = new EtcdShard(client, etcd.Name(parsed), node: null);
            using DirectoryAdoption adoption = Open(directory, etcd.Name(parsed), first, names, isSync);
            ClusterView? there = await EtcdPatience.AskAsync(
                () => shard.ReadAsync(cancellationToken), cancellationToken);
            bool isOther = there is not null && there.Cluster != adoption.Record;
            if (!isOther)
            {
                adoption.Move();
                isOther = !await ClusterCreation.CreateAsync(
                    shard, adoption.Record, names, adoption.State, cancellationToken);
            }

            if (isOther)
            {
                throw await ClusterCreation.ExistsAsync(
                    shard, etcd.Name(parsed), etcd.Flags(parsed), cancellationToken);
            }

            adoption.Finish();
            new CreationWriter(streams, options.IsJson(parsed)).Write(
                etcd.Name(parsed), adoption.Record, names,
                NodeStarts.Of(names, isSync, etcd.Settings(parsed), (first, directory)), (first, directory));
            return ExitCode.Done;
        });
        return command;
    }

    private static DirectoryAdoption Open(
        string directory, string cluster, string node, string[] nodes, bool isSync)
    {
        if (!Directory.Exists(directory))
            throw new DirectoryNotFoundException($"There is no directory {directory}.");
        try
        {
            return DirectoryAdoption.Open(directory, cluster, node, nodes, isSync, TimeProvider.System);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Locked)
        {
            throw new AdvisedException(
                ExitCode.Refused,
                $"A process has {directory} open: a broker, or another adoption. Nothing was changed.",
                "stop the broker, and run it again");
        }
    }
}
