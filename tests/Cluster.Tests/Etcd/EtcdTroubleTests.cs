using System.Globalization;
using System.Text.RegularExpressions;
using EQueue.Cluster.Etcd;
using EQueue.Replication;
using EQueue.Support;

namespace EQueue.Cluster.Tests.Etcd;

/// <summary>A full etcd, one with users, one with certificates, one that was restored: each test has its own.</summary>
public sealed partial class EtcdTroubleTests
{
    private const int UnknownId = 7002;

    private static CancellationToken None => Shard.None;

    [Fact]
    public async Task GivenAnEtcdThatIsFull_WhenANodePutsItsKey_ThenItIsToldSo_AndReadsGoOn_UntilTheAdviceIsFollowed()
    {
        await using EtcdServer server = await EtcdServer.StartAsync("--quota-backend-bytes", "262144");
        Shard shard = await Shard.BeginAsync(server.Client);
        Transaction claim = await shard.ClaimAsync();
        await FillAsync(server.Client);

        EtcdException failure = await Assert.ThrowsAsync<EtcdException>(
            () => shard.A.PutNodeAsync(shard.SeatA.Life, "127.0.0.1:9490", None));
        TransactionResult result = await shard.A.TransactAsync(claim, None);

        Assert.Equal(EtcdTrouble.NoSpace, failure.Kind);
        Assert.Contains("alarm NOSPACE", failure.Message, StringComparison.Ordinal);
        Assert.Equal((TransactionOutcome.Unknown, null), (result.Outcome, result.View));
        Assert.Contains("alarm NOSPACE", Assert.Single(shard.Log.Lines, line => line.Id == UnknownId).Text);
        ShardView view = await shard.ReadAsync();
        Assert.Equal(claim.Expected, view.State);

        await server.Process.ControlAsync("del", "/filler");
        EtcdRange now = await server.Client.RangeAsync(EtcdKeys.One("/filler"), None);
        await server.Process.ControlAsync("compact", now.Revision.ToString(CultureInfo.InvariantCulture));
        await server.Process.ControlAsync("defrag");
        await server.Process.ControlAsync("alarm", "disarm");

        Assert.True(await shard.A.PutNodeAsync(shard.SeatA.Life, "127.0.0.1:9490", None));
        Assert.Equal(TransactionOutcome.Succeeded, (await shard.A.TransactAsync(claim, None)).Outcome);
    }

    [Fact]
    public async Task GivenAnEtcdWithUsers_WhenTheClusterHasOne_ThenItReachesItsKeysAndNoOthers_AlsoWhenItsTokenIsGone()
    {
        await using EtcdServer server = await EtcdServer.StartAsync("--bcrypt-cost", "4");
        // As docs/cluster.md says.
        EtcdProcess etcd = server.Process;
        await etcd.ControlAsync("role", "add", "equeue");
        await etcd.ControlAsync("role", "grant-permission", "equeue", "--prefix=true", "readwrite", "/equeue/");
        await etcd.ControlAsync("user", "add", "equeue:secret");
        await etcd.ControlAsync("user", "grant-role", "equeue", "equeue");
        await etcd.ControlAsync("user", "add", "root:root");
        await etcd.ControlAsync("user", "grant-role", "root", "root");
        await etcd.ControlAsync("auth", "enable");
        ClusterOptions options = EtcdServer.OptionsFor(etcd.Address);
        await using EtcdClient client = EtcdServer.ClientOf(options with { EtcdUser = "equeue", EtcdPassword = "secret" });
        await using EtcdClient wrong = EtcdServer.ClientOf(options with { EtcdUser = "equeue", EtcdPassword = "Secret" });
        await using EtcdClient none = EtcdServer.ClientOf(options);

        Shard shard = await Shard.BeginAsync(client);
        await shard.NextEpochAsync();
        await AssertRefusedAsync(() => client.RangeAsync(EtcdKeys.One("/other"), None), "permission denied");
        await AssertRefusedAsync(() => wrong.RangeAsync(shard.Keys.All, None), "authentication failed");
        await AssertRefusedAsync(() => none.RangeAsync(shard.Keys.All, None), "user name is empty");

        // A restarted etcd knows no token that it gave before.
        await server.RestartAsync();
        Assert.Equal(2, (await shard.NextEpochAsync()).State!.Epoch);
    }

    [Fact]
    public async Task GivenAnEtcdWithoutUsers_WhenTheClusterHasOne_ThenItDoesWithout()
    {
        await using EtcdServer server = await EtcdServer.StartAsync();
        ClusterOptions options = EtcdServer.OptionsFor(server.Process.Address);
        await using EtcdClient client = EtcdServer.ClientOf(options with { EtcdUser = "equeue", EtcdPassword = "secret" });

        Shard shard = await Shard.BeginAsync(client);

        Assert.NotNull((await shard.ReadAsync()).State);
    }

    [Fact]
    public async Task GivenAnEtcdWithACertificate_WhenItsAuthorityIsKnown_ThenItIsAsked_AndNotOtherwise()
    {
        using var directory = new TempDirectory();
        using var authority = TestAuthority.Create();
        using var stranger = TestAuthority.Create("Another root");
        using TestCertificate certificate = authority.Sign();
        await File.WriteAllTextAsync(directory["ca.pem"], authority.Pem, None);
        await File.WriteAllTextAsync(directory["stranger.pem"], stranger.Pem, None);
        await File.WriteAllTextAsync(directory["cert.pem"], certificate.CertificatePem, None);
        await File.WriteAllTextAsync(directory["key.pem"], certificate.KeyPem, None);
        await using EtcdServer server = await EtcdServer.StartAsync(
            "--cert-file", directory["cert.pem"], "--key-file", directory["key.pem"]);
        ClusterOptions options = EtcdServer.OptionsFor(server.Process.Address);
        await using EtcdClient known = EtcdServer.ClientOf(options with { EtcdCertificateAuthority = directory["ca.pem"] });
        await using EtcdClient unknown = EtcdServer.ClientOf(
            options with { EtcdCertificateAuthority = directory["stranger.pem"] });
        await using EtcdClient system = EtcdServer.ClientOf(options);

        // Its port is open before its election is over.
        await Eventually.TrueAsync(async () => await AnswersAsync(known));
        foreach (EtcdClient other in new[] { unknown, system })
        {
            EtcdException failure =
                await Assert.ThrowsAsync<EtcdException>(() => other.RangeAsync(EtcdKeys.One("k"), None));
            Assert.Equal(EtcdTrouble.Unavailable, failure.Kind);
            Assert.Matches(CertificatePattern(), failure.Message);
        }
    }

    [Fact]
    public async Task GivenABackupThatIsRestored_WhenTheClusterIsRead_ThenItsRevisionsHaveFallen()
    {
        await using EtcdServer server = await EtcdServer.StartAsync();
        Shard shard = await Shard.BeginAsync(server.Client);
        ShardView saved = await shard.NextEpochAsync();
        string backup = await server.Process.SaveAsync();
        for (int epoch = 0; epoch < 3; epoch++)
            await shard.NextEpochAsync();
        ClusterView before = (await shard.A.ReadAsync(None))!;
        Transaction claim = await shard.ClaimAsync();

        await server.Process.RestoreAsync(backup);
        ClusterView after = (await shard.A.ReadAsync(None))!;
        TransactionResult refused = await shard.A.TransactAsync(claim, None);

        Assert.InRange(after.EtcdRevision, 1, before.EtcdRevision - 1);
        Assert.Equivalent(saved, after.Shard);
        // A revision below the expected one is what tells the rules of a restore.
        Assert.Equal(TransactionOutcome.Refused, refused.Outcome);
        Assert.InRange(refused.View!.Revision, 1, claim.ExpectedRevision - 1);
        // The key of this life was put before the backup, under a revision that etcd gives a second time.
        Assert.True(await shard.A.PutNodeAsync(shard.SeatA.Life, "127.0.0.1:9490", None));
    }

    [Fact]
    public async Task GivenARevisionThatWasGivenTwice_WhenItsFirstValueIsExpected_ThenTheTransactionIsRefused()
    {
        await using EtcdServer server = await EtcdServer.StartAsync();
        Shard shard = await Shard.BeginAsync(server.Client);
        string backup = await server.Process.SaveAsync();
        Transaction first = await shard.ClaimAsync();
        Transaction second = await shard.ClaimAsync();
        ShardView lost = (await shard.A.TransactAsync(first, None)).View!;
        await server.Process.RestoreAsync(backup);
        ShardView now = (await shard.A.TransactAsync(second, None)).View!;
        Assert.Equal(lost.Revision, now.Revision);

        // Author and epoch are right as well: the value alone is another one.
        TransactionResult result = await shard.A.TransactAsync(
            Shard.Claim(lost, shard.SeatA) with { Acted = default }, None);

        Assert.Equal(TransactionOutcome.Refused, result.Outcome);
        Assert.Equal(second.Next, result.View!.State);
    }

    [Fact]
    public async Task GivenALifeThatCameAfterTheBackup_WhenItIsRestored_ThenTheLifePutsItsKeyAgain()
    {
        await using EtcdServer server = await EtcdServer.StartAsync();
        Shard shard = await Shard.CreateAsync(server.Client);
        string backup = await server.Process.SaveAsync();
        EtcdShard next = shard.Node("a");
        Seat seat = Shard.NewSeat("a");
        Assert.True(await next.PutNodeAsync(seat.Life, "127.0.0.1:9490", None));

        await server.Process.RestoreAsync(backup);
        Assert.Equal(shard.SeatA.Life, (await shard.ReadAsync()).Lives["a"]);

        Assert.True(await next.PutNodeAsync(seat.Life, "127.0.0.1:9490", None));
        Assert.Equal(seat.Life, (await shard.ReadAsync()).Lives["a"]);
    }

    private static async Task<bool> AnswersAsync(EtcdClient client)
    {
        try
        {
            await client.RangeAsync(EtcdKeys.One("k"), None);
            return true;
        }
        catch (EtcdException)
        {
            return false;
        }
    }

    private static async Task AssertRefusedAsync(Func<Task> call, string part)
    {
        EtcdException failure = await Assert.ThrowsAsync<EtcdException>(call);
        Assert.Equal(EtcdTrouble.Refused, failure.Kind);
        Assert.Contains(part, failure.Message, StringComparison.Ordinal);
    }

    /// <summary>Writes until etcd says that it is full.</summary>
    private static async Task FillAsync(EtcdClient client)
    {
        byte[] filler = new byte[64 << 10];
        for (int put = 0; put < 100; put++)
        {
            try
            {
                await client.TransactAsync([], [EtcdOperation.Put("/filler", filler)], [], None);
            }
            catch (EtcdException failure) when (failure.Kind == EtcdTrouble.NoSpace)
            {
                return;
            }
        }

        Assert.Fail("etcd is never full.");
    }

    [GeneratedRegex("certificate|SSL", RegexOptions.IgnoreCase)]
    private static partial Regex CertificatePattern();
}
