using System.CommandLine;
using EQueue.Cli.Clusters;
using EQueue.Cli.Connecting;
using EQueue.Cluster.Etcd;

namespace EQueue.Cli.Commands;

/// <summary><c>cluster elect</c>.</summary>
internal static class ClusterElectCommand
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var etcd = new EtcdOptions();
        var name = new Argument<string>("node") { Description = "The node that is to lead." };
        var accept = new Option<bool>("--accept-loss")
        {
            Description = "Do it: what the node does not have is lost for good.",
        };
        var command = new Command(
            "elect",
            "Makes one node the only seat, when those that hold the seats are lost for good; without --accept-loss it "
            + "only tells what the node has. A cluster that takes messages is left alone. "
            + "Example: equeue cluster elect c --accept-loss")
        {
            name, accept,
        };
        etcd.AddTo(command);
        command.SetAction(async (parsed, cancellationToken) =>
        {
            await using EtcdClient client = etcd.Connect(parsed);
            var shard = new EtcdShard(client, etcd.Name(parsed), node: null);
            ClusterStatus status = await ClusterStatusCommand.ReadAsync(
                shard, etcd.Name(parsed), options.ReadTls(parsed), cancellationToken);
            var election = Election.Of(status, parsed.GetRequiredValue(name), etcd.Flags(parsed));
            if (!parsed.GetValue(accept))
                throw new UsageException($"{election.What} Nothing was changed: --accept-loss does it.");
            await election.RunAsync(shard, cancellationToken);
            election.Write(streams, options.IsJson(parsed));
            return ExitCode.Done;
        });
        return command;
    }
}
