using System.CommandLine;
using EQueue.Cli.Clusters;
using EQueue.Cli.Connecting;
using EQueue.Cluster.Etcd;

namespace EQueue.Cli.Commands;

/// <summary><c>cluster create</c>.</summary>
internal static class ClusterCreateCommand
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var etcd = new EtcdOptions();
        Option<string[]> nodes = NodeNames.ListOption();
        Option<string> flush = NodeNames.FlushOption();
        var command = new Command(
            "create",
            "Creates a cluster with an empty log in etcd, and prints how its nodes are started. "
            + "Example: equeue cluster create --nodes a,b,c --etcd http://127.0.0.1:2379")
        {
            nodes, flush,
        };
        etcd.AddTo(command);
        command.SetAction(async (parsed, cancellationToken) =>
        {
            string[] names = parsed.GetRequiredValue(nodes);
            var record = new ClusterRecord(
                Guid.NewGuid(), Guid.NewGuid(), Guid.NewGuid(), TimeProvider.System.GetUtcNow(), ShardCount: 1,
                NodeNames.IsSync(parsed, flush));
            await using EtcdClient client = etcd.Connect(parsed);
            var shard = new EtcdShard(client, etcd.Name(parsed), node: null);
            if (!await ClusterCreation.CreateAsync(shard, record, names, state: null, cancellationToken))
            {
                throw await ClusterCreation.ExistsAsync(
                    shard, etcd.Name(parsed), etcd.Flags(parsed), cancellationToken);
            }

            var writer = new CreationWriter(streams, options.IsJson(parsed));
            writer.Write(etcd.Name(parsed), record, names, NodeStarts.Of(names, record.IsSync, etcd.Settings(parsed)));
            return ExitCode.Done;
        });
        return command;
    }
}
