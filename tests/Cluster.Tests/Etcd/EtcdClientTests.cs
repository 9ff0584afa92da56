using System.Net;
using EQueue.Cluster.Etcd;
using EQueue.Support;

namespace EQueue.Cluster.Tests.Etcd;

public sealed class EtcdClientTests(EtcdServer server) : IClassFixture<EtcdServer>
{
    private const int MemberFailsId = 7000;
    private const int MemberAnswersId = 7001;

    private const string Good = """{"header":{"revision":"7"},"kvs":[{"key":"aw==","value":"dg==","mod_revision":"5"}]}""";

    private static readonly EtcdKeys Key = EtcdKeys.One("k");

    private static CancellationToken None => Shard.None;

    public static TheoryData<string, EtcdTrouble, string> BadAnswers => new()
    {
        { HttpStub.Answer("200 OK", "<html>It works!</html>", "text/html"), EtcdTrouble.Malformed, "not etcd's" },
        { HttpStub.Answer("200 OK", "{}"), EtcdTrouble.Malformed, "header" },
        { HttpStub.Answer("200 OK", "null"), EtcdTrouble.Malformed, "not etcd's" },
        { HttpStub.Answer("200 OK", """{"header":{"revision":"0"}}"""), EtcdTrouble.Malformed, "header" },
        { HttpStub.Answer("200 OK", """{"header":{"revision":"7"},"kvs":[{"key":"?"}]}"""), EtcdTrouble.Malformed, "" },
        { HttpStub.Answer("200 OK", """{"header":{"revision":"99999999999999999999"}}"""), EtcdTrouble.Malformed, "" },
        { HttpStub.Answer("404 Not Found", "404 page not found", "text/plain"), EtcdTrouble.Malformed, "404" },
        { HttpStub.Answer("403 Forbidden", "{}"), EtcdTrouble.Malformed, "403" },
        { HttpStub.Answer("502 Bad Gateway", "<html/>", "text/html"), EtcdTrouble.Unavailable, "502" },
        { Failure("503 Service Unavailable", 14, "etcdserver: no leader"), EtcdTrouble.Unavailable, "no leader" },
        { Failure("429 Too Many", 8, "etcdserver: too many requests"), EtcdTrouble.Unavailable, "too many" },
        { Failure("429 Too Many", 8, "etcdserver: mvcc: database space exceeded"), EtcdTrouble.NoSpace, "NOSPACE" },
        { Failure("403 Forbidden", 7, "etcdserver: permission denied"), EtcdTrouble.Refused, "permission denied" },
        { Failure("401 Unauthorized", 16, "etcdserver: invalid auth token"), EtcdTrouble.Refused, "invalid auth" },
        { Failure("400 Bad Request", 3, "etcdserver: user name is empty"), EtcdTrouble.Refused, "user name" },
        { Failure("400 Bad Request", 3, "etcdserver: too many operations"), EtcdTrouble.Malformed, "operations" },
        { "SSH-2.0-OpenSSH_9.2p1 Debian\r\n", EtcdTrouble.Unavailable, "" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", EtcdTrouble.Unavailable, "" },
        { "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", EtcdTrouble.Malformed, "302" },
        { "", EtcdTrouble.Unavailable, "no answer within 500 ms" },
    };

    [Theory]
    [MemberData(nameof(BadAnswers))]
    public async Task GivenAMemberThatIsNoGoodEtcd_WhenItIsAsked_ThenTheFailureSaysWhatItIs(
        string answer, EtcdTrouble kind, string part)
    {
        await using var stub = new HttpStub(answer);
        await using EtcdClient etcd = ClientOf(answer, EtcdServer.OptionsFor(stub.Address));

        EtcdException failure = await Assert.ThrowsAsync<EtcdException>(() => etcd.RangeAsync(Key, None));

        Assert.Equal(kind, failure.Kind);
        Assert.Contains(part, failure.Message, StringComparison.Ordinal);
        Assert.Contains($"{stub.Address}", failure.Message, StringComparison.Ordinal);
        Assert.Equal(1, stub.Requests);
    }

    [Theory]
    [MemberData(nameof(BadAnswers))]
    public async Task GivenABadMemberBeforeAGoodOne_WhenTheyAreAsked_ThenTheGoodOneAnswersAndIsAskedFirstFromThenOn(
        string answer, EtcdTrouble kind, string part)
    {
        await using var bad = new HttpStub(answer);
        await using var good = new HttpStub(HttpStub.Answer("200 OK", Good));
        await using EtcdClient etcd = ClientOf(answer, EtcdServer.OptionsFor(bad.Address, good.Address));

        for (int call = 1; call <= 3; call++)
        {
            EtcdValue found = Assert.Single((await etcd.RangeAsync(Key, None)).Values);
            Assert.Equal(("k", 5), (found.Key, found.ModRevision));
        }

        Assert.True(bad.Requests == 1, $"{kind} {part}: asked {bad.Requests} times");
        Assert.Equal(3, good.Requests);
    }

    [Theory]
    [InlineData("Content-Length: 4194305\r\n\r\n")]
    [InlineData("Connection: close\r\n\r\n")]
    public async Task GivenAnAnswerOfMoreThanFourMebibytes_WhenItIsRead_ThenItIsGivenUp(string header)
    {
        await using var stub = new HttpStub($"HTTP/1.1 200 OK\r\n{header}{new string(' ', 4_194_305)}");
        await using EtcdClient etcd = EtcdServer.ClientOf(EtcdServer.OptionsFor(stub.Address));

        EtcdException failure = await Assert.ThrowsAsync<EtcdException>(() => etcd.RangeAsync(Key, None));

        Assert.Equal(EtcdTrouble.Malformed, failure.Kind);
        Assert.Contains("4194304 bytes", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenMembersThatFailInDifferentWays_WhenAllAreAsked_ThenTheFailureTellsOfEachAndTheWorstIsItsKind()
    {
        await using var silent = new HttpStub("");
        await using var full = new HttpStub(
            Failure("429 Too Many", 8, "etcdserver: mvcc: database space exceeded"));
        await using var other = new HttpStub(HttpStub.Answer("404 Not Found", ""));
        await using var etcd = new EtcdClient(EtcdServer.OptionsFor(silent.Address, full.Address, other.Address));

        EtcdException failure = await Assert.ThrowsAsync<EtcdException>(() => etcd.RangeAsync(Key, None));

        Assert.Equal(EtcdTrouble.NoSpace, failure.Kind);
        Assert.All(
            new[] { silent, full, other },
            stub => Assert.Contains($"{stub.Address}", failure.Message, StringComparison.Ordinal));
    }

    [Fact]
    public async Task GivenACallerThatGivesUp_WhenAMemberIsSilent_ThenTheCallIsCancelledAndIsNoFailureOfEtcd()
    {
        await using var silent = new HttpStub("");
        await using EtcdClient etcd = EtcdServer.ClientOf(EtcdServer.OptionsFor(silent.Address));
        using var cancelled = new CancellationTokenSource();
        Task<EtcdRange> call = etcd.RangeAsync(Key, cancelled.Token);
        await Eventually.TrueAsync(() => silent.Requests == 1);

        await cancelled.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call);
    }

    [Fact]
    public async Task GivenAMemberThatComesBack_WhenItIsAskedAgain_ThenTheLogSaysOnceThatItFailedAndOnceThatItAnswers()
    {
        var log = new CollectedLog();
        int port = FreePorts.Take(1)[0];
        await using EtcdClient etcd = EtcdServer.ClientOf(
            EtcdServer.OptionsFor(new Uri($"http://127.0.0.1:{port}")), log);
        for (int call = 0; call < 3; call++)
            await Assert.ThrowsAsync<EtcdException>(() => etcd.RangeAsync(Key, None));

        await using HttpStub stub = await Eventually.StartedAsync(
            () => Task.FromResult(new HttpStub(HttpStub.Answer("200 OK", Good), port)));
        await etcd.RangeAsync(Key, None);
        await etcd.RangeAsync(Key, None);

        Assert.Equal([MemberFailsId, MemberAnswersId], log.Lines.Select(line => line.Id));
    }

    [Fact]
    public async Task GivenKeysAndValuesOfAnyBytes_WhenTheyAreWrittenAndRead_ThenTheyAreTheSame()
    {
        string prefix = $"/any/{Shard.NewName()}/";
        byte[] value = [.. Enumerable.Range(0, 256).Select(one => (byte)one)];
        string key = $"{prefix}ü/\"\\\u0001";

        EtcdTransactionResult put = await server.Client.TransactAsync(
            [EtcdCompare.IsAbsent(EtcdKeys.Below(prefix))],
            [EtcdOperation.Put(key, value), EtcdOperation.Put($"{prefix}empty", []),
                EtcdOperation.Range(EtcdKeys.Below(prefix))],
            [],
            None);
        EtcdRange read = await server.Client.RangeAsync(EtcdKeys.Below(prefix), None);

        Assert.True(put.Succeeded);
        Assert.Equivalent(read, Assert.Single(put.Ranges));
        Assert.Equal([$"{prefix}empty", key], read.Values.Select(found => found.Key));
        Assert.Equal(value, read.Values[1].Value);
        Assert.Empty(read.Values[0].Value);
        Assert.Equal(put.Revision, read.Values[1].ModRevision);
    }

    [Fact]
    public async Task GivenAProxyInTheEnvironment_WhenEtcdIsAsked_ThenItIsAskedDirectly()
    {
        await using var proxy = new HttpStub(HttpStub.Answer("502 Bad Gateway", ""));
        IWebProxy before = HttpClient.DefaultProxy;
        HttpClient.DefaultProxy = new WebProxy(proxy.Address);
        try
        {
            await using EtcdClient etcd = EtcdServer.ClientOf(EtcdServer.OptionsFor(server.Process.Address));
            Assert.Empty((await etcd.RangeAsync(EtcdKeys.One(Shard.NewName()), None)).Values);
        }
        finally
        {
            HttpClient.DefaultProxy = before;
        }

        Assert.Equal(0, proxy.Requests);
    }

    [Fact]
    public async Task GivenAConnectionThatCarriesNothingMore_WhenTheMemberIsAskedAgain_ThenItIsNotUsedAgain()
    {
        await using var proxy = new AnswerProxy(server.Process.Address);
        await using var etcd = new EtcdClient(EtcdServer.OptionsFor(proxy.Uri));
        Task swallowed = proxy.Swallow(isSilent: true);
        await Eventually.TrueAsync(async () =>
        {
            EtcdException failure = await Assert.ThrowsAsync<EtcdException>(() => etcd.RangeAsync(Key, None));
            Assert.Contains("no answer within 500 ms", failure.Message, StringComparison.Ordinal);
            return swallowed.IsCompleted;
        });
        proxy.Pass();

        await Eventually.TrueAsync(async () =>
        {
            try
            {
                return (await etcd.RangeAsync(Key, None)).Revision > 0;
            }
            catch (EtcdException)
            {
                return false;
            }
        });
    }

    [Theory]
    [InlineData("none")]
    [InlineData("empty")]
    public void GivenAFileOfCertificatesThatCannotBeUsed_WhenAClientIsMade_ThenTheFileIsNamed(string file)
    {
        using var directory = new TempDirectory();
        string path = directory[file];
        if (file == "empty")
            File.WriteAllText(path, "no certificate");
        ClusterOptions options = EtcdServer.OptionsFor(server.Process.Address) with { EtcdCertificateAuthority = path };

        ArgumentException refusal = Assert.Throws<ArgumentException>(() => new EtcdClient(options));

        Assert.Contains(path, refusal.Message, StringComparison.Ordinal);
    }

    /// <summary>Half a second for a member that is silent; others may need longer on a busy machine.</summary>
    private static EtcdClient ClientOf(string answer, ClusterOptions options) =>
        answer.Length == 0 ? new EtcdClient(options) : EtcdServer.ClientOf(options);

    private static string Failure(string status, int code, string message) => HttpStub.Answer(
        status, $$"""{"error":"{{message}}","message":"{{message}}","code":{{code}}}""");
}
