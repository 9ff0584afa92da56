using System.Security.Cryptography;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>Clients with certificates, while files of trust, users and time change under them.</summary>
public sealed class CertificateTests : IAsyncLifetime
{
    private readonly ManualTime _time = new();
    private readonly AuditLines _audit = new();
    private readonly TempDirectory _directory = new();
    private readonly TestAuthority _staff = TestAuthority.Create("Staff");
    private readonly TestAuthority _guests = TestAuthority.Create("Guests");
    private TestBroker _broker = null!;
    private TestPeer _admin = null!;

    private string Trusted => _directory["trusted.pem"];

    private string Revoked => _directory["revoked.pem"];

    public async ValueTask InitializeAsync()
    {
        using TestCertificate server = _staff.Sign();
        Write("server.pem", server.Pem);
        Write("ca.pem", _staff.Pem);
        Write("trusted.pem", _staff.Pem + "\n" + _guests.Pem);
        Write("revoked.pem", ListOf(_staff.Revoke()));
        _broker = await TestBroker.StartAsync(
            TestBroker.SmallOptions() with
            {
                Tls = new ServerTlsOptions
                {
                    Certificate = _directory["server.pem"],
                    ClientCertificates = ClientCertificates.Require,
                    ClientAuthority = Trusted,
                    ClientRevocations = Revoked,
                },
                Security = new SecurityOptions
                {
                    Unauthenticated = UnauthenticatedAccess.Owner,
                    Audit = _audit,
                    CertificateMapping = "uri:spiffe://example/*/sa/* -> user:$2; cn:admin -> cert:admin; default",
                },
            },
            _time);
        using TestCertificate admin = _staff.Sign("admin");
        _admin = await ConnectAsync(admin.Pem);
    }

    public async ValueTask DisposeAsync()
    {
        await _admin.DisposeAsync();
        await _broker.DisposeAsync();
        _staff.Dispose();
        _guests.Dispose();
        _directory.Dispose();
    }

    [Fact]
    public async Task GivenAConnectedClient_WhenItsAuthorityIsTrustedNoMore_ThenItIsCutAndOthersStay()
    {
        using TestCertificate guest = _guests.Sign("guest");
        await using TestPeer peer = await ConnectAsync(guest.Pem);
        Assert.Equal("cert:guest", await WhoAsync(peer));

        Write("trusted.pem", _staff.Pem);

        await AssertCutAsync(peer);
        Assert.Equal("cert:admin", await WhoAsync(_admin));
        Assert.Equal(1, _admin.ConnectionGeneration);
    }

    [Fact]
    [EffectOf("Server:Tls:ClientRevocations")]
    public async Task GivenAConnectedClient_WhenItsCertificateIsRevoked_ThenItIsCutAndOthersOfItsAuthorityStay()
    {
        using TestCertificate lost = _staff.Sign("lost");
        using TestCertificate kept = _staff.Sign("kept");
        await using TestPeer first = await ConnectAsync(lost.Pem);
        await using TestPeer second = await ConnectAsync(kept.Pem);
        Assert.Equal("cert:lost", await WhoAsync(first));

        Write("revoked.pem", ListOf(_guests.Revoke()) + ListOf(_staff.Revoke(lost)));

        await AssertCutAsync(first);
        Assert.Equal("cert:kept", await WhoAsync(second));
        Assert.Equal(1, second.ConnectionGeneration);
    }

    [Fact]
    public async Task GivenAClientBelowAnIntermediateAuthority_WhenTrustChanges_ThenTheWholeChainIsJudgedAgain()
    {
        using TestAuthority team = _staff.Below("Team");
        using TestCertificate member = team.Sign("member");
        await using TestPeer peer = await ConnectAsync(member.Pem + "\n" + team.Pem);
        Assert.Equal("cert:member", await WhoAsync(peer));

        // Another root more: nothing that was trusted goes.
        using var third = TestAuthority.Create("Third");
        Write("trusted.pem", _staff.Pem + "\n" + third.Pem);
        await PassAsync();
        Assert.Equal("cert:member", await WhoAsync(peer));
        Assert.Equal(1, peer.ConnectionGeneration);

        Write("revoked.pem", _staff.Revoke(), team.Revoke(member));
        await AssertCutAsync(peer);
    }

    [Fact]
    public async Task GivenFilesThatCannotBeUsed_WhenTheyAreWritten_ThenNobodyIsCut()
    {
        using TestCertificate guest = _guests.Sign("guest");
        await using TestPeer peer = await ConnectAsync(guest.Pem);
        Write("trusted.pem", "no certificate");
        Write("revoked.pem", "no list");
        await PassAsync();
        Assert.Equal("cert:guest", await WhoAsync(peer));
        Assert.Equal(1, peer.ConnectionGeneration);
    }

    [Fact]
    [EffectOf("Security:CertificateMapping")]
    public async Task GivenACertificateThatStandsForAUser_WhenTheUserIsDisabled_ThenItIsCutAndServedAgainLater()
    {
        using TestCertificate certificate = _staff.SignClient(
            "CN=admin", ["https://example/other", "spiffe://example/prod/sa/shop"], ["shop.example"]);
        Task<TestPeer> connecting = ConnectAsync(certificate.Pem);
        await Eventually.TrueAsync(() => RefusalsOf("shop") > 0);

        await _admin.InvokeAsync(new SetUserRequest("shop", null, null, ["web"], true));
        await using TestPeer peer = await connecting;
        Assert.Equal("user:shop", await WhoAsync(peer));
        int before = RefusalsOf("shop");
        await _admin.InvokeAsync(new SetUserRequest("shop", null, IsDisabled: true, null, false));

        // It is cut off, and refused when it comes again.
        await Eventually.TrueAsync(() => RefusalsOf("shop") > before);
        await _admin.InvokeAsync(new SetUserRequest("shop", null, IsDisabled: false, null, false));
        await using TestPeer again = await ConnectAsync(certificate.Pem);
        Assert.Equal("user:shop", await WhoAsync(again));
    }

    /// <summary>Lets the broker look at files and connections: it has when it has cut the connection of a user who was
    /// disabled meanwhile.</summary>
    private async Task PassAsync()
    {
        _time.Advance(TimeSpan.FromSeconds(1.5));
        string user = $"canary-{Guid.NewGuid():N}";
        using TestCertificate certificate = _staff.SignClient("CN=canary", [$"spiffe://example/prod/sa/{user}"], []);
        await _admin.InvokeAsync(new SetUserRequest(user, null, null, null, true));
        await using TestPeer canary = await ConnectAsync(certificate.Pem);
        await _admin.InvokeAsync(new SetUserRequest(user, null, IsDisabled: true, null, false));
        await Eventually.TrueAsync(() => RefusalsOf(user) > 0);
    }

    private int RefusalsOf(string user) => _audit.Lines.Count(line =>
        line.Outcome == ErrorCode.AuthenticationFailed
        && line.Detail.Contains($"'user:{user}'", StringComparison.Ordinal));

    private static Task AssertCutAsync(TestPeer peer) => Eventually.TrueAsync(
        async () => await Record.ExceptionAsync(() => WhoAsync(peer)) is not null);

    private static async Task<string> WhoAsync(TestPeer peer) => (await peer.InvokeAsync(
        new TestRuleRequest("", Permission.Read, ResourceKind.Topic, "t"))).Principal;

    private Task<TestPeer> ConnectAsync(string pem)
    {
        string file = $"{Guid.NewGuid():N}.pem";
        Write(file, pem);
        return TestPeer.ConnectAsync(
            _broker.EndPoint,
            TestPeer.NewHello("certificate"),
            new TlsOptions { AuthorityFile = _directory["ca.pem"], CertificateFile = _directory[file] });
    }

    private static string ListOf(byte[] list) =>
        PemEncoding.WriteString("X509 CRL", list) + "\n";

    private void Write(string name, params byte[][] lists) =>
        Write(name, string.Join('\n', lists.Select(ListOf)));

    private void Write(string name, string text) => File.WriteAllText(_directory[name], text);
}
