using System.Runtime.Versioning;
using EQueue.Cluster.Tests.Etcd;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>How a server process that is a node tells how it is, and why it ends.</summary>
[SupportedOSPlatform("linux")]
public sealed class ServerEndTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private const int Configuration = 2;

    [Fact]
    public async Task GivenASettingThatDoesNotFitTheCluster_WhenItIsCreatedLater_ThenTheProcessEndsWithTwoAndNamesIt()
    {
        await using var cluster = ServerCluster.Of(etcd.Client, etcd.Process.Address);
        ServerProcess server = await cluster.StartAsync("a", "--flush", "async");
        await cluster.CreateAsync("a");
        Assert.Equal(Configuration, await server.WaitForExitAsync());
        Assert.Contains("the process ends: Store:FlushPolicy is Async", server.Error, StringComparison.Ordinal);
    }

    [Fact]
    [Follows("is not created yet: equeue cluster create")]
    public async Task GivenANodeWithoutAClusterYet_WhenItsMetricsAreRead_ThenItWaits_AndServesWhenThereIsOne()
    {
        await using var cluster = ServerCluster.Of(etcd.Client, etcd.Process.Address);
        ServerProcess server = await cluster.StartAsync("a", "--admin", "127.0.0.1:0");
        Assert.Equal("0", await RoleAsync());
        await Eventually.TrueAsync(() => server.Error.Contains("is not created yet", StringComparison.Ordinal));
        await cluster.CreateAsync("a");
        await Eventually.TrueAsync(async () => await RoleAsync() == "3");

        async Task<string> RoleAsync()
        {
            using var http = new HttpClient();
            string page = await http.GetStringAsync(
                new Uri($"http://{server.Admin}/metrics"), TestContext.Current.CancellationToken);
            string line = Assert.Single(
                page.Split('\n'), one => one.StartsWith("equeue_cluster_role ", StringComparison.Ordinal));
            return line[(line.LastIndexOf(' ') + 1)..];
        }
    }
}
