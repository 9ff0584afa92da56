using System.CommandLine;
using EQueue.Cli.Clusters;
using EQueue.Cli.Connecting;
using EQueue.Cluster.Etcd;

namespace EQueue.Cli.Commands;

/// <summary><c>cluster status</c>.</summary>
internal static class ClusterStatusCommand
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var etcd = new EtcdOptions();
        var command = new Command(
            "status",
            "Shows who leads, who holds seats and which nodes answer; the last line says whether messages are taken, "
            + "and what to do. Ends with 1 unless the leader answers and all nodes have seats. "
            + "Example: equeue cluster status --etcd http://127.0.0.1:2379");
        etcd.AddTo(command);
        command.SetAction(async (parsed, cancellationToken) =>
        {
            await using EtcdClient client = etcd.Connect(parsed);
            var shard = new EtcdShard(client, etcd.Name(parsed), node: null);
            ClusterStatus status = await ReadAsync(
                shard, etcd.Name(parsed), options.ReadTls(parsed), cancellationToken);
            var writer = new StatusWriter(streams);
            if (options.IsJson(parsed))
                writer.WriteJson(status);
            else
                writer.WriteText(status);
            return status.IsHealthy ? ExitCode.Done : ExitCode.Failed;
        });
        return command;
    }

    /// <exception cref="AdvisedException">There is no such cluster.</exception>
    public static async Task<ClusterStatus> ReadAsync(
        EtcdShard shard, string name, TlsOptions? tls, CancellationToken cancellationToken) =>
        await ClusterStatus.ReadAsync(shard, name, tls, cancellationToken) ?? throw new AdvisedException(
            ExitCode.NotFound, $"There is no cluster '{name}' in this etcd.",
            "--name names another one; equeue cluster create --help tells how one is made");
}
