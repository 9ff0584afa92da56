using System.Net;
using System.Net.Sockets;
using System.Text;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>Credentials over what others can read: refused before anything is sent that depends on them.</summary>
public sealed class PlainPortTests : IAsyncLifetime
{
    private const string Reason = "others read what is sent here";

    private readonly TempDirectory _directory = new();
    private readonly TestAuthority _authority = TestAuthority.Create();
    private readonly string? _own = FindOwnAddress();
    private string _token = "";

    public ValueTask InitializeAsync() => ValueTask.CompletedTask;

    public ValueTask DisposeAsync()
    {
        _authority.Dispose();
        _directory.Dispose();
        return ValueTask.CompletedTask;
    }

    [Fact]
    public async Task GivenAPlainPortBeyondLoopback_WhenAPasswordOrATokenIsShown_ThenItIsRefusedWithoutAChallenge()
    {
        await using TestBroker broker = await StartAsync(null);
        foreach ((string mechanism, byte[] credentials) in ((string, byte[])[])
            [
                (Mechanisms.ScramSha256, new ScramClient("alice", "alice's").FirstMessage()),
                (Mechanisms.ScramSha256, new ScramClient("nobody", "any").FirstMessage()),
                (Mechanisms.Token, Encoding.UTF8.GetBytes(_token)),
                (Mechanisms.Token, Encoding.UTF8.GetBytes("eqt_AAAAAAAA_wrong")),
            ])
        {
            using LoginPeer peer = await LoginPeer.ConnectAsync(broker.EndPoint);
            LoginAnswer answer = await peer.SayAsync(mechanism, credentials);
            Assert.Null(answer.Hello);
            Assert.Equal(ErrorCode.AuthenticationFailed, answer.Error);
            Assert.Contains(Reason, answer.Message, StringComparison.Ordinal);
            Assert.True(await peer.IsClosedAsync());
        }

        // Over HTTP as well, which has no TLS here.
        EQueueException refused = Assert.Throws<EQueueException>(
            () => broker.Broker.AdmitHttp(PeerPlace.Remote, null, _token, "192.0.2.1:1", ""));
        Assert.Equal(ErrorCode.AuthenticationFailed, refused.Code);
        Assert.Contains(Reason, refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenTheSamePortWithTls_WhenTheTokenIsShown_ThenItIsServed()
    {
        using TestCertificate server = _authority.Sign(_own ?? "127.0.0.1");
        File.WriteAllText(_directory["server.pem"], server.Pem);
        File.WriteAllText(_directory["ca.pem"], _authority.Pem);
        await using TestBroker broker = await StartAsync(
            new ServerTlsOptions { Certificate = _directory["server.pem"] });
        await using TestPeer peer = await TestPeer.ConnectAsync(
            broker.EndPoint,
            TestPeer.NewHello("test") with
            {
                Mechanism = Mechanisms.Token,
                Credentials = Encoding.UTF8.GetBytes(_token),
            },
            new TlsOptions { AuthorityFile = _directory["ca.pem"] });
        TestRuleResponse told = await peer.InvokeAsync(
            new TestRuleRequest("", Permission.Read, ResourceKind.Topic, "t"));
        Assert.Equal("user:alice", told.Principal);
    }

    private static string? FindOwnAddress() => Dns.GetHostAddresses(Dns.GetHostName())
        .FirstOrDefault(static one => one.AddressFamily == AddressFamily.InterNetwork && !IPAddress.IsLoopback(one))
        ?.ToString();

    /// <summary>A broker at an address that is not loopback, with a user and a token that the owner made.</summary>
    private async Task<TestBroker> StartAsync(ServerTlsOptions? tls)
    {
        Assert.SkipWhen(_own is null, "This machine has no address but loopback.");
        string socket = _directory["socket"];
        TestBroker broker = await TestBroker.StartAsync(TestBroker.SmallOptions() with
        {
            Listen = $"{_own}:0,unix:{socket}",
            Tls = tls,
            Security = new SecurityOptions { Unauthenticated = UnauthenticatedAccess.Owner },
        });
        await using TestPeer owner = await TestPeer.ConnectAsync(new UnixDomainSocketEndPoint(socket));
        await owner.InvokeAsync(new SetUserRequest(
            "alice", ScramSecret.Create("alice's", ScramSecret.MinIterations), null, null, true));
        _token = (await owner.InvokeAsync(new CreateTokenRequest("alice", 0, ""))).Token;
        return broker;
    }
}
