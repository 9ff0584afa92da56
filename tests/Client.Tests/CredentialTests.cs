using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using System.Text;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Clients that say who they are: to brokers that believe them, that do not, and that are not brokers.</summary>
public sealed class CredentialTests
{
    private const string Password = "correct horse battery";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAPassword_WhenTheClientConnects_ThenItIsAdmittedAndThePasswordNeverTravels()
    {
        await using FakeBroker broker = await StartAsync();
        await using EQueueClient client = NewClient(broker, Credentials.Password("alice", Password));
        Assert.Equal(broker.StoreId, (await client.Admin.DescribeBrokerAsync(Token)).StoreId);
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("t", BitConverter.GetBytes(7), cancellationToken: Token);
        Assert.Equal([7], broker.All());
        Assert.All(broker.Hellos, static hello =>
        {
            Assert.Equal(1, hello.Version);
            Assert.Equal(-1, hello.Body.AsSpan().IndexOf(Encoding.UTF8.GetBytes(Password)));
        });
        Assert.Equal(0, broker.HelloCount % 2);
    }

    [Fact]
    public async Task GivenNoCredentials_WhenTheClientConnects_ThenItSaysHelloAsItAlwaysDid()
    {
        await using FakeBroker broker = await StartAsync();
        await using var client = new EQueueClient(new ClientOptions { Addresses = broker.Address, ClientName = "c" });
        await client.Admin.DescribeBrokerAsync(Token);
        (byte version, byte[] body) = Assert.Single(broker.Hellos);
        Assert.Equal(0, version);
        Assert.True(Payload.TryRead<HelloRequest>(body, out HelloRequest? hello));
        Assert.Equal(("", 0, "c"), (hello.Mechanism, hello.Credentials.Length, hello.ClientName));
    }

    [Theory]
    [InlineData("alice", "wrong")]
    [InlineData("nobody", Password)]
    public async Task GivenAWrongPassword_WhenAnythingIsCalled_ThenItFailsAtOnceAndIsNotTriedOn(
        string user, string password)
    {
        await using FakeBroker broker = await StartAsync();
        await using EQueueClient client = NewClient(broker, Credentials.Password(user, password));
        for (int call = 0; call < 2; call++)
            await AssertRefusedAsync(client, "The name or the password is wrong.");
        Assert.Equal(2, broker.HelloCount);

        await using Producer producer = client.CreateProducer();
        EQueueException send = await Assert.ThrowsAsync<EQueueException>(
            () => producer.SendAsync("t", [1], cancellationToken: Token).AsTask());
        Assert.Equal(ErrorCode.AuthenticationFailed, send.Code);
        await using Consumer consumer = client.CreateConsumer("g", ["t"]);
        EQueueException join = await Assert.ThrowsAsync<EQueueException>(() => consumer.JoinAsync(Token).AsTask());
        Assert.Equal(ErrorCode.AuthenticationFailed, join.Code);
        Assert.Equal(2, broker.HelloCount);
    }

    [Fact]
    public async Task GivenAnAddressWhereLoginsFailed_WhenTheBrokerNamesATimeToWait_ThenTheClientTriesOn()
    {
        await using FakeBroker broker = await StartAsync();
        broker.MeetHello = static attempt => attempt < 2 ? ErrorCode.AuthenticationFailed : ErrorCode.None;
        broker.RefusalDelay = TimeSpan.FromSeconds(1);
        await using EQueueClient client = NewClient(broker, Credentials.Password("alice", Password));
        await client.Admin.DescribeBrokerAsync(Token);
        Assert.Equal(4, broker.HelloCount);
    }

    [Theory]
    [InlineData("another signature", "does not prove that it knows the user alice")]
    [InlineData("no exchange", "does not prove that it knows the user alice")]
    [InlineData("one iteration", "nothing was proved to it")]
    [InlineData("another nonce", "nothing was proved to it")]
    [InlineData("no end", "nothing was proved to it")]
    public async Task GivenAServerThatDoesNotKnowTheUser_WhenTheClientLogsIn_ThenTheClientRefusesIt(
        string what, string said)
    {
        await using FakeBroker broker = await StartAsync();
        broker.SayInstead = (isDone, challenge) => what switch
        {
            "another signature" when isDone => (true, "v=" + Convert.ToBase64String(new byte[32])),
            "no exchange" => (true, ""),
            "one iteration" when !isDone => (false, challenge[..challenge.LastIndexOf('=')] + "=1"),
            "another nonce" when !isDone => (false, "r=x" + challenge[2..]),
            "no end" => (false, isDone ? "" : challenge),
            _ => (isDone, challenge),
        };
        await using EQueueClient client = NewClient(broker, Credentials.Password("alice", Password));
        await AssertRefusedAsync(client, said);
        Assert.InRange(broker.HelloCount, 1, 2);
    }

    [Fact]
    public async Task GivenABrokerOlderThanCredentials_WhenTheClientLogsIn_ThenThatIsSaidPlainlyAndAtOnce()
    {
        await using FakeBroker broker = await StartAsync();
        broker.KnowsNoCredentials = true;
        await using EQueueClient client = NewClient(broker, Credentials.Token("right"));
        EQueueException told = await Assert.ThrowsAsync<EQueueException>(() => client.Admin.DescribeBrokerAsync(Token).AsTask());
        Assert.Equal(ErrorCode.UnsupportedVersion, told.Code);
        Assert.Contains("does not know credentials", told.Message, StringComparison.Ordinal);
        Assert.Equal(1, broker.HelloCount);
    }

    [Fact]
    public async Task GivenATokenFile_WhenItIsRenewed_ThenTheNextConnectionUsesTheNewToken()
    {
        using var directory = new TempDirectory();
        await using FakeBroker broker = await StartAsync();
        await File.WriteAllTextAsync(directory["token"], "old\n", Token);
        await using EQueueClient client = NewClient(broker, Credentials.TokenFile(directory["token"]));
        for (int call = 0; call < 2; call++)
            await AssertRefusedAsync(client, "The token is not known.");
        Assert.Equal(1, broker.HelloCount);

        await File.WriteAllTextAsync(directory["token"], "  right\n", Token);
        await client.Admin.DescribeBrokerAsync(Token);
        Assert.Equal("right", LastCredentials(broker));

        // The connection ends: the one that comes after it reads the file anew.
        broker.TokenUsers["newer"] = "alice";
        await File.WriteAllTextAsync(directory["token"], "newer", Token);
        broker.CloseAll();
        await Eventually.TrueAsync(() => LastCredentials(broker) == "newer");
        await client.Admin.TestAccessAsync("", Permission.Read, ResourceKind.Broker, "", Token);
    }

    [Fact]
    public async Task GivenATokenFileThatIsNotThere_WhenItComes_ThenTheCallsThatFailedAtOnceSucceed()
    {
        using var directory = new TempDirectory();
        await using FakeBroker broker = await StartAsync();
        await using EQueueClient client = NewClient(broker, Credentials.TokenFile(directory["token"]));
        await AssertRefusedAsync(client, directory["token"]);
        await File.WriteAllTextAsync(directory["token"], "not a token", Token);
        await AssertRefusedAsync(client, "has no token");
        Assert.Equal(0, broker.HelloCount);
        await File.WriteAllTextAsync(directory["token"], "right", Token);
        await client.Admin.DescribeBrokerAsync(Token);
    }

    [Fact]
    public async Task GivenATokenFileThatIsAwayForAMoment_WhenTheConnectionIsLost_ThenTheClientTriesOn()
    {
        using var directory = new TempDirectory();
        await using FakeBroker broker = await StartAsync();
        await File.WriteAllTextAsync(directory["token"], "right", Token);
        var told = new TaskCompletionSource<ConnectFailure>();
        await using EQueueClient client = NewClient(broker, Credentials.TokenFile(directory["token"]), told);
        await client.Admin.DescribeBrokerAsync(Token);
        File.Delete(directory["token"]);
        broker.CloseAll();
        Assert.Contains(directory["token"], (await told.Task.WaitAsync(Token)).Reason, StringComparison.Ordinal);
        await File.WriteAllTextAsync(directory["token"], "right", Token);
        await client.Admin.TestAccessAsync("", Permission.Read, ResourceKind.Broker, "", Token);
    }

    public static TheoryData<Credentials> Secrets =>
        [Credentials.Password("alice", Password), Credentials.Token("right")];

    [Theory]
    [MemberData(nameof(Secrets))]
    public async Task GivenPlainTcpToAnotherMachine_WhenTheClientHasCredentials_ThenItSendsNothing(
        Credentials credentials)
    {
        IPAddress? own = NetworkInterface.GetAllNetworkInterfaces()
            .SelectMany(static one => one.GetIPProperties().UnicastAddresses)
            .Select(static one => one.Address)
            .FirstOrDefault(static one =>
                one.AddressFamily == AddressFamily.InterNetwork && !IPAddress.IsLoopback(one));
        Assert.SkipWhen(own is null, "This machine has no address but loopback.");
        await using FakeBroker broker = await StartAsync(listen: $"{own}:0");
        await using EQueueClient client = NewClient(broker, credentials);
        await AssertRefusedAsync(client, "has no TLS");
        Assert.Equal(0, broker.HelloCount);
    }

    [Theory]
    [InlineData("127.0.0.1", true)]
    [InlineData("127.9.9.9", true)]
    [InlineData("::1", true)]
    [InlineData("::ffff:127.0.0.1", true)]
    [InlineData("::ffff:192.0.2.1", false)]
    [InlineData("192.0.2.1", false)]
    [InlineData("0.0.0.0", false)]
    [InlineData("fe80::1", false)]
    public void GivenAnAddress_WhenAskedWhetherOthersMayListen_ThenLoopbackAloneIsPrivate(string address, bool expected)
    {
        Assert.Equal(expected, BrokerLink.IsPrivate(new IPEndPoint(IPAddress.Parse(address), 9490)));
        Assert.True(BrokerLink.IsPrivate(new InMemoryEndPoint()));
        Assert.True(BrokerLink.IsPrivate(new UnixDomainSocketEndPoint("/tmp/x")));
        Assert.False(BrokerLink.IsPrivate(new DnsEndPoint("localhost", 9490)));
    }

    [Fact]
    public async Task GivenAnInMemoryBroker_WhenTheProcessNamesAPrincipal_ThenItIsThatOne()
    {
        var here = new InMemoryEndPoint();
        await using FakeBroker broker = await FakeBroker.StartAsync(inMemory: here);
        var options = new ClientOptions { InMemory = here, Credentials = Credentials.InProcess("user:alice") };
        await using var client = new EQueueClient(options);
        await client.Admin.DescribeBrokerAsync(Token);
        Assert.Equal("user:alice", LastCredentials(broker));
        ArgumentException wrong = Assert.Throws<ArgumentException>(() => (options with { InMemory = null }).Validate());
        Assert.Contains(nameof(ClientOptions.Credentials), wrong.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void GivenCredentials_WhenShown_ThenTheSecretIsNotAmongIt()
    {
        foreach (Credentials? one in new[]
            { Credentials.Password("alice", Password), Credentials.Token("s3cr3t"), Credentials.TokenFile("/run/token") })
        {
            string shown = $"{one} {new ClientOptions { Credentials = one }}";
            Assert.DoesNotContain(Password, shown, StringComparison.Ordinal);
            Assert.DoesNotContain("s3cr3t", shown, StringComparison.Ordinal);
        }

        foreach (string wrong in new[] { "", "with space", "controls\u0007", "gr\u00fcn", new string('x', 5000) })
        {
            ArgumentException told = Assert.ThrowsAny<ArgumentException>(() => Credentials.Token(wrong));
            Assert.True(wrong.Length == 0 || !told.Message.Contains(wrong, StringComparison.Ordinal));
        }

        ArgumentException password =
            Assert.ThrowsAny<ArgumentException>(() => Credentials.Password("alice", "bell\u0007"));
        Assert.DoesNotContain("bell", password.Message, StringComparison.Ordinal);
    }

    private static async Task<FakeBroker> StartAsync(string listen = "127.0.0.1:0")
    {
        FakeBroker broker = await FakeBroker.StartAsync(listen: listen);
        broker.Users["alice"] = ScramSecret.Create(Password, ScramSecret.MinIterations);
        broker.TokenUsers["right"] = "alice";
        return broker;
    }

    private static EQueueClient NewClient(
        FakeBroker broker, Credentials credentials, TaskCompletionSource<ConnectFailure>? told = null) =>
        new(new ClientOptions
        {
            Addresses = broker.Address,
            Credentials = credentials,
            RequestTimeout = TimeSpan.FromMinutes(1),
            ConnectFailed = failure => told?.TrySetResult(failure),
        });

    private static string LastCredentials(FakeBroker broker)
    {
        Assert.True(Payload.TryRead<HelloRequest>(broker.Hellos.Last().Body, out HelloRequest? hello));
        return Encoding.UTF8.GetString(hello.Credentials.Span);
    }

    private static async Task AssertRefusedAsync(EQueueClient client, string said)
    {
        EQueueException told = await Assert.ThrowsAsync<EQueueException>(() => client.Admin.DescribeBrokerAsync(Token).AsTask());
        Assert.Equal(ErrorCode.AuthenticationFailed, told.Code);
        Assert.Contains(said, told.Message, StringComparison.Ordinal);
        Assert.DoesNotContain(Password, told.ToString(), StringComparison.Ordinal);
    }
}
