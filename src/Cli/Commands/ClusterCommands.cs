using System.CommandLine;
using EQueue.Cli.Connecting;

namespace EQueue.Cli.Commands;

/// <summary><c>cluster create | status | adopt | elect</c>: a cluster's keys in etcd, and its nodes.</summary>
internal static class ClusterCommands
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var cluster = new Command(
            "cluster",
            "Creates a cluster of brokers in etcd, shows how it is, and helps when nodes are lost for good. "
            + "Example: equeue cluster status --etcd http://etcd-1:2379,http://etcd-2:2379")
        {
            ClusterCreateCommand.Create(options, streams),
            ClusterStatusCommand.Create(options, streams),
            ClusterAdoptCommand.Create(options, streams),
            ClusterElectCommand.Create(options, streams),
        };
        return cluster;
    }
}
