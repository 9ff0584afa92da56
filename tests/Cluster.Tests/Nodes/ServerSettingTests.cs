using System.Runtime.Versioning;
using EQueue.Cluster.Etcd;
using EQueue.Cluster.Tests.Etcd;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cluster.Tests;

/// <summary>What the settings of a node do, in server processes.</summary>
[SupportedOSPlatform("linux")]
public sealed class ServerSettingTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private static CancellationToken None => TestContext.Current.CancellationToken;

    [Fact]
    [EffectOf("Cluster:Node", "Cluster:Name", "Cluster:Etcd", "Cluster:AdvertisedAddress")]
    public async Task GivenAServerAsANode_WhenItRuns_ThenEtcdAndClientsFindItUnderItsNameAtItsAddress()
    {
        await using ServerCluster cluster = await ServerCluster.CreateAsync(etcd.Client, etcd.Process.Address, "a");
        int port = FreePorts.Take(1)[0];
        await cluster.StartAsync("a", "--listen", $"127.0.0.1:{port}", "--Cluster:AdvertisedAddress", $"localhost:{port}");
        await cluster.SeatsAsync("a");

        Assert.Equal($"localhost:{port}", (await cluster.ReadAsync()).Addresses["a"]);
        WatchLeaderResponse told = default!;
        await Eventually.TrueAsync(async () => (told = await WatchAsync($"127.0.0.1:{port}")).Epoch > 0);
        Assert.Equal($"localhost:{port}", told.Leader);
        Assert.Equal([$"localhost:{port}"], told.Nodes);
        await SendAsync($"127.0.0.1:{port}", null);
    }

    [Fact]
    public async Task GivenANodeThatTheClusterDoesNotHave_WhenItsServerStarts_ThenItEndsWithTwoAndIsNeverReady()
    {
        await using ServerCluster cluster = await ServerCluster.CreateAsync(etcd.Client, etcd.Process.Address, "a");

        InvalidOperationException refused =
            await Assert.ThrowsAsync<InvalidOperationException>(() => cluster.StartAsync("d"));

        Assert.StartsWith("The server wrote '' instead of its ready line (2):", refused.Message, StringComparison.Ordinal);
        Assert.Contains($"Cluster:Node is d; the cluster '{cluster.Name}' has a.", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    [EffectOf("Cluster:SecretFile")]
    public async Task GivenANodeWithAnotherSecret_WhenItStarts_ThenItGetsNoSeatAndBothSayWhy_UntilItHasTheRightOne()
    {
        await using ServerCluster cluster = await ServerCluster.CreateAsync(etcd.Client, etcd.Process.Address, "a", "b");
        ServerProcess a = await cluster.StartAsync("a", "--Cluster:SecretFile", cluster.Write("right", "secret\n"));
        await cluster.SeatsAsync("a");
        ServerProcess b = await cluster.StartAsync("b", "--Cluster:SecretFile", cluster.Write("wrong", "Secret\n"));

        await Eventually.TrueAsync(() => Says(a, b.Address) && Says(b, a.Address));
        Assert.Equal("a", Assert.Single((await cluster.ReadAsync()).Shard.State!.Seats).Node);

        Assert.Equal(0, await b.StopAsync());
        await cluster.StartAsync("b", "--Cluster:SecretFile", cluster.Write("right again", "secret"));
        await cluster.SeatsAsync("a", "b");
        await SendAsync(a.Address, null);

        static bool Says(ServerProcess server, string other) =>
            server.Error.Contains($"{other} has another secret (Cluster:SecretFile)", StringComparison.Ordinal);
    }

    [Fact]
    [EffectOf("Cluster:CertificateAuthority")]
    public async Task GivenNodesWithTls_WhenTheirAuthorityIsTheRightOne_ThenTheyHaveSeats_AndOneWithAnotherIsRefused()
    {
        using var authority = TestAuthority.Create();
        using var stranger = TestAuthority.Create("Another root");
        using TestCertificate certificate = authority.Sign();
        await using ServerCluster cluster = await ServerCluster.CreateAsync(
            etcd.Client, etcd.Process.Address, "a", "b");
        string[] shared =
        [
            "--Server:Tls:Certificate", cluster.Write("node.pem", certificate.Pem),
            "--Cluster:SecretFile", cluster.Write("secret", "secret"),
        ];
        string right = cluster.Write("ca.pem", authority.Pem);
        string wrong = cluster.Write("stranger.pem", stranger.Pem);
        ServerProcess a = await cluster.StartAsync("a", [.. shared, "--Cluster:CertificateAuthority", right]);
        await cluster.SeatsAsync("a");
        ServerProcess b = await cluster.StartAsync("b", [.. shared, "--Cluster:CertificateAuthority", wrong]);

        await Eventually.TrueAsync(() => b.Error.Contains("waits for a leader", StringComparison.Ordinal)
            && b.Error.Contains("certificate", StringComparison.Ordinal));
        Assert.Equal("a", Assert.Single((await cluster.ReadAsync()).Shard.State!.Seats).Node);

        Assert.Equal(0, await b.StopAsync());
        await cluster.StartAsync("b", [.. shared, "--Cluster:CertificateAuthority", right]);
        await cluster.SeatsAsync("a", "b");
        await SendAsync(a.Address, new TlsOptions { AuthorityFile = right });
    }

    [Fact]
    [EffectOf("Cluster:EtcdCertificateAuthority", "Cluster:EtcdUser", "Cluster:EtcdPasswordFile")]
    public async Task GivenAnEtcdWithTlsAndUsers_WhenANodeHasBoth_ThenItServes_AndOneWithoutSaysWhatEtcdSays()
    {
        using var directory = new TempDirectory();
        using var authority = TestAuthority.Create();
        using TestCertificate certificate = authority.Sign();
        string ca = directory["ca.pem"];
        await File.WriteAllTextAsync(ca, authority.Pem, None);
        await File.WriteAllTextAsync(directory["cert.pem"], certificate.CertificatePem, None);
        await File.WriteAllTextAsync(directory["key.pem"], certificate.KeyPem, None);
        await using EtcdServer server = await EtcdServer.StartAsync(
            "--cert-file", directory["cert.pem"], "--key-file", directory["key.pem"], "--bcrypt-cost", "4");
        await AddUsersAsync(server.Process, ca);
        ClusterOptions options = EtcdServer.OptionsFor(server.Process.Address) with
        {
            EtcdCertificateAuthority = ca,
            EtcdUser = "equeue",
            EtcdPassword = "secret",
        };
        await using EtcdClient client = EtcdServer.ClientOf(options);
        await using ServerCluster cluster = await ServerCluster.CreateAsync(client, server.Process.Address, "a");
        string[] trust = ["--Cluster:EtcdCertificateAuthority", ca];
        string[] user = ["--Cluster:EtcdUser", "equeue", "--Cluster:EtcdPasswordFile"];

        await WaitsAsync([], "certificate");
        await WaitsAsync(trust, "user name is empty");
        await WaitsAsync([.. trust, .. user, cluster.Write("wrong", "Secret")], "authentication failed");
        ServerProcess a = await cluster.StartAsync("a", [.. trust, .. user, cluster.Write("right", "secret\n")]);
        await cluster.SeatsAsync("a");
        await SendAsync(a.Address, null);

        async Task WaitsAsync(string[] arguments, string why)
        {
            ServerProcess waiting = await cluster.StartAsync("a", arguments);
            await Eventually.TrueAsync(() => waiting.Error.Contains("waits for etcd", StringComparison.Ordinal)
                && waiting.Error.Contains(why, StringComparison.OrdinalIgnoreCase));
            Assert.Equal(0, await waiting.StopAsync());
        }
    }

    private static async Task AddUsersAsync(EtcdProcess process, string authority)
    {
        await Eventually.TrueAsync(async () =>
        {
            try
            {
                await RunAsync("get", "nothing");
                return true;
            }
            catch (Xunit.Sdk.XunitException)
            {
                // Its port is open before its election is over.
                return false;
            }
        });
        await RunAsync("role", "add", "equeue");
        await RunAsync("role", "grant-permission", "equeue", "--prefix=true", "readwrite", "/equeue/");
        await RunAsync("user", "add", "equeue:secret");
        await RunAsync("user", "grant-role", "equeue", "equeue");
        await RunAsync("user", "add", "root:root");
        await RunAsync("user", "grant-role", "root", "root");
        await RunAsync("auth", "enable");

        Task<string> RunAsync(params string[] arguments) => process.ControlAsync(["--cacert", authority, .. arguments]);
    }

    private static async Task<WatchLeaderResponse> WatchAsync(string address)
    {
        await using var client = new RemotingClient(HostPort.Parse(address), new RemotingClientOptions(), NullLoggerFactory.Instance);
        var request = FrameBuffer.Rent();
        new WatchLeaderRequest(0, TimeSpan.Zero).Write(new PayloadWriter(request));
        using ResponseFrame answer = await client.InvokeAsync(
            request, (byte)Opcode.WatchLeader, 0, TimeSpan.FromSeconds(10), None);
        Assert.True(Payload.TryRead(answer.PayloadSpan, out WatchLeaderResponse told));
        return told;
    }

    private static async Task SendAsync(string address, TlsOptions? tls)
    {
        await using var client = new EQueueClient(new ClientOptions { Addresses = address, Tls = tls });
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("t", "stored"u8.ToArray());
    }
}
