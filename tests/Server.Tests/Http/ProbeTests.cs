using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.Json.Nodes;
using EQueue.Support;

namespace EQueue.Server.Tests.Http;

/// <summary>The admin port as probes, browsers and load balancers use it, and beside peers that are silent.</summary>
public sealed class ProbeTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenEveryGetRoute_WhenAskedWithHead_ThenTheHeadersAreThoseOfGetAndThereIsNoBody()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await server.AskAsync(
            "POST", "/api/v1/topics/t/messages", """{"queue":0,"messages":[{"body":"b","key":"k"}]}""");
        await server.AskAsync("POST", "/api/v1/groups/g/reset", """{"to":"begin","topic":"t"}""");
        string[] paths = [.. server.Admin.EndPoints.Where(route => route.Method == "GET").Select(route => Fill(route.Pattern))];
        Assert.InRange(paths.Length, 15, 100);
        foreach (string path in paths)
        {
            using HttpResponseMessage get = await server.SendAsync("GET", path);
            using HttpResponseMessage head = await server.SendAsync("HEAD", path);
            Assert.True(get.IsSuccessStatusCode, $"{path}: {(int)get.StatusCode}");
            Assert.True(get.StatusCode == head.StatusCode, $"HEAD {path}: {(int)head.StatusCode}");
            Assert.Equal(get.Content.Headers.ContentType, head.Content.Headers.ContentType);
            Assert.Empty(await head.Content.ReadAsByteArrayAsync(Token));
        }
    }

    [Fact]
    public async Task GivenEveryRoute_WhenAskedWithOptions_ThenItsMethodsAreToldAndNothingIsPermitted()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        foreach (IGrouping<string, (string Method, string Pattern)> route
            in server.Admin.EndPoints.GroupBy(one => one.Pattern))
        {
            using HttpResponseMessage answer = await server.SendAsync("OPTIONS", Fill(route.Key));
            Assert.True(answer.StatusCode == HttpStatusCode.NoContent, $"{route.Key}: {(int)answer.StatusCode}");
            IEnumerable<string> methods = route.Select(one => one.Method).Append("OPTIONS");
            if (methods.Contains("GET"))
                methods = methods.Append("HEAD");
            Assert.Equal(
                methods.Order(StringComparer.Ordinal), answer.Content.Headers.Allow.Order(StringComparer.Ordinal));
            Assert.DoesNotContain(
                answer.Headers, one => one.Key.StartsWith("Access-Control", StringComparison.OrdinalIgnoreCase));
        }

        using HttpResponseMessage unknown = await server.SendAsync("OPTIONS", "/nothing");
        Assert.Equal(HttpStatusCode.NotFound, unknown.StatusCode);
    }

    [Theory]
    [InlineData("/health/live?x=1")]
    [InlineData("/health/ready?timeout=5&x")]
    [InlineData("/metrics?name[]=a")]
    [InlineData("/stats?t=1")]
    public async Task GivenAProbeWithAQueryOfItsOwn_WhenAsked_ThenItIsAnswered(string path)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        using HttpResponseMessage answer = await server.SendAsync("GET", path);
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
    }

    [Theory]
    [InlineData("/health/live")]
    [InlineData("/health/ready")]
    public async Task GivenAProbeUnderAnyName_WhenAsked_ThenItIsAnswered(string path)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        var request = new HttpRequestMessage(HttpMethod.Get, path);
        request.Headers.TryAddWithoutValidation("Host", "broker.example");
        using HttpResponseMessage answer = await server.Http.SendAsync(request, Token);
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
    }

    [Fact]
    public async Task GivenABrowser_WhenItOpensThePort_ThenASmallPageLinksWhatThereIs()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        using HttpResponseMessage answer = await server.SendAsync("GET", "/");
        Assert.Equal("text/html", answer.Content.Headers.ContentType!.MediaType);
        string page = await answer.Content.ReadAsStringAsync(Token);
        string[] links = [.. page.Split("href=\"").Skip(1).Select(one => one.Split('"')[0])];
        Assert.Contains("/health/ready", links);
        foreach (string link in links)
        {
            using HttpResponseMessage linked = await server.SendAsync("GET", link);
            Assert.True(linked.StatusCode == HttpStatusCode.OK, link);
        }
    }

    [Fact]
    public async Task GivenMoreSilentConnectionsThanPlaces_WhenAProbeComes_ThenItIsAnswered()
    {
        await using AdminServer server = await AdminServer.StartAsync(
            admin => admin with { MaxRequests = 1, MaxStreams = 0 });
        const int Places = 68;
        var silent = new List<Socket>();
        try
        {
            for (int i = 0; i < 2 * Places; i++)
                silent.Add(await ConnectAsync(server, i % 2 == 0 ? "" : "GET /health/live HTTP/1.1\r\n"));
            await Eventually.TrueAsync(() => server.Admin.ConnectionCount == Places);
            for (int i = 0; i < 5; i++)
            {
                using var http = new HttpClient { BaseAddress = server.Http.BaseAddress };
                Assert.Equal("live\n", await http.GetStringAsync("/health/live", Token));
                Assert.Equal("ready\n", await http.GetStringAsync("/health/ready", Token));
            }

            Assert.InRange(server.Admin.ConnectionCount, 1, Places);
        }
        finally
        {
            silent.ForEach(one => one.Dispose());
        }
    }

    [Fact]
    public async Task GivenAConnectionThatIsBeingAnswered_WhenSilentOnesFillThePlaces_ThenItsAnswerComes()
    {
        await using AdminServer server = await AdminServer.StartAsync(
            admin => admin with { MaxRequests = 1, MaxStreams = 0 });
        await server.AskAsync("POST", "/api/v1/topics", """{"topic":"t"}""", HttpStatusCode.Created);
        using var http = new HttpClient { BaseAddress = server.Http.BaseAddress };
        Task<string> waiting = http.GetStringAsync("/api/v1/topics/t/queues/0/messages?from=end&waitMs=2000", Token);
        await Eventually.TrueAsync(async () => (long)(await server.AskAsync("GET", "/stats"))["broker.parkedFetches"]! == 1);
        var silent = new List<Socket>();
        try
        {
            for (int i = 0; i < 150; i++)
                silent.Add(await ConnectAsync(server, ""));
            Assert.Contains("\"messages\":[]", await waiting, StringComparison.Ordinal);
        }
        finally
        {
            silent.ForEach(one => one.Dispose());
        }
    }

    [Fact]
    public async Task GivenAConnectionThatNeverAsks_WhenItsTimeIsOver_ThenItIsClosed()
    {
        await using AdminServer server = await AdminServer.StartAsync(
            admin => admin with { IdleTimeout = TimeSpan.FromSeconds(1) });
        using Socket silent = await ConnectAsync(server, "");
        using var late = CancellationTokenSource.CreateLinkedTokenSource(Token);
        late.CancelAfter(TimeSpan.FromSeconds(30));
        Assert.Equal(0, await silent.ReceiveAsync(new byte[1], late.Token));
    }

    [Theory]
    [InlineData("zz\r\n{}\r\n0\r\n\r\n")]
    [InlineData("ffffffffffffffffff\r\n{}\r\n0\r\n\r\n")]
    [InlineData("7fffffffff\r\n{}\r\n0\r\n\r\n")]
    [InlineData("-2\r\n{}\r\n0\r\n\r\n")]
    [InlineData("2\r\n{}xx0\r\n\r\n")]
    public async Task GivenABodyWhoseChunksAreWrong_WhenSent_ThenItIsTheSendersFault(string body)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        using Socket peer = await ConnectAsync(
            server,
            "POST /api/v1/topics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n" + body);
        byte[] status = new byte["HTTP/1.1 400".Length];
        await using var stream = new NetworkStream(peer);
        await stream.ReadExactlyAsync(status, Token);
        Assert.Equal("HTTP/1.1 400", Encoding.ASCII.GetString(status));
    }

    [Theory]
    [InlineData("POST", "topics/t/messages", """{"messages":[{"body":"x"},{"bdy":"x"}]}""",
        "unknown member 'bdy' in messages[1]: allowed is body, bodyBase64, key, keyBase64, tag, tagBase64, properties. Did you mean 'body'?")]
    [InlineData("POST", "topics", """{"topc":"t"}""", "topic is missing")]
    [InlineData("POST", "topics", """{"topic":"t","setings":{}}""", "unknown member 'setings': allowed is ")]
    [InlineData("POST", "topics", """{"topic":"t","settings":{"queues":1}}""", "unknown member 'queues' in settings: ")]
    [InlineData("PUT", "quotas", """{"kind":"client","name":"c","rate":5}""", "unknown member 'rate': allowed is ")]
    [InlineData("GET", "topics?limt=5", null, "unknown parameter 'limt': allowed is after, limit. Did you mean 'limit'?")]
    public async Task GivenAMemberThatDoesNotExist_WhenSent_ThenItIsNamedWithThoseThatDo(
        string method, string path, string? body, string message)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        JsonObject problem = await server.AskAsync(method, $"/api/v1/{path}", body, HttpStatusCode.BadRequest);
        Assert.StartsWith(message, (string?)problem["detail"], StringComparison.Ordinal);
    }

    private static string Fill(string pattern) => pattern
        .Replace("{topic}", "t", StringComparison.Ordinal)
        .Replace("{group}", "g", StringComparison.Ordinal)
        .Replace("{queue}", "0", StringComparison.Ordinal)
        .Replace("{offset}", "0", StringComparison.Ordinal)
        + (pattern.EndsWith("by-key", StringComparison.Ordinal) ? "?key=k"
            : pattern.EndsWith("/explain", StringComparison.Ordinal) ? "?group=g"
            : pattern.EndsWith("/offsets", StringComparison.Ordinal) ? "?time=end" : "");

    private static async Task<Socket> ConnectAsync(AdminServer server, string text)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(server.EndPoint, Token);
        if (text.Length > 0)
            await socket.SendAsync(Encoding.ASCII.GetBytes(text), Token);
        return socket;
    }
}
