using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.Json.Nodes;
using EQueue.Support;

namespace EQueue.Server.Tests.Http;

/// <summary>The admin port at its limits, with peers that are slow or not meant, and before and behind the broker's
/// life.</summary>
public sealed class AdminLimitTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    [EffectOf("Admin:MaxRequests")]
    public async Task GivenAsManyRequestsAsMayBe_WhenOneMoreComes_ThenItIsRefusedAndHealthAnswers()
    {
        await using AdminServer server = await AdminServer.StartAsync(admin => admin with { MaxRequests = 2 });
        await server.AskAsync("POST", "/api/v1/topics", """{"topic":"t"}""", HttpStatusCode.Created);
        const string Wait = "/api/v1/topics/t/queues/0/messages?from=end&waitMs=30000";
        using var gone = CancellationTokenSource.CreateLinkedTokenSource(Token);
        Task[] waiting = [TakePlaceAsync(server, Wait, gone.Token), TakePlaceAsync(server, Wait, gone.Token)];
        await Eventually.TrueAsync(async () => await ParkedAsync(server) == 2);
        using HttpResponseMessage refused = await server.SendAsync("GET", "/api/v1/topics");
        Assert.Equal(HttpStatusCode.ServiceUnavailable, refused.StatusCode);
        Assert.Equal(TimeSpan.FromSeconds(1), refused.Headers.RetryAfter!.Delta);
        Assert.Contains("LimitReached", await refused.Content.ReadAsStringAsync(Token), StringComparison.Ordinal);
        Assert.Equal("ready\n", await server.Http.GetStringAsync("/health/ready", Token));

        await gone.CancelAsync();
        await Task.WhenAll(waiting.Select(one => Assert.ThrowsAnyAsync<OperationCanceledException>(() => one)));
        await Eventually.TrueAsync(async () =>
        {
            using HttpResponseMessage answer = await server.SendAsync("GET", "/api/v1/topics");
            return answer.StatusCode == HttpStatusCode.OK;
        });
    }

    [Fact]
    [EffectOf("Admin:MaxBodyBytes")]
    public async Task GivenABodyAboveTheLimit_WhenSent_ThenItIsRefusedUnread()
    {
        await using AdminServer server = await AdminServer.StartAsync(admin => admin with { MaxBodyBytes = 1024 });
        JsonObject problem = await server.AskAsync(
            "POST", "/api/v1/topics", $$"""{"topic":"{{new string('t', 2_000)}}"}""", HttpStatusCode.RequestEntityTooLarge);
        Assert.Equal("up to 1024 bytes", (string?)problem["allowed"]);
    }

    [Theory]
    [InlineData("POST", "topics", """{"topic":"LONG"}""")]
    [InlineData("PUT", "quotas", """{"kind":"client","name":"LONG"}""")]
    [InlineData("POST", "groups/g/reset", """{"to":"begin","instanceId":"LONG"}""")]
    [InlineData("POST", "topics", """{"topic":"\ud800"}""")]
    [InlineData("POST", "topics", """{"\ud800":1}""")]
    [InlineData("POST", "topics", """{"topic":"a","topic":"b"}""")]
    [InlineData("POST", "topics", """{"topic":1,"settings":{"x":1,"x":2}}""")]
    [InlineData("POST", "topics/t/messages", """{"messages":[{"body":"\ud800"}]}""")]
    public async Task GivenATextThatNoRequestCarriesOrNobodyCanRead_WhenSent_ThenItIsTheSendersFault(
        string method, string path, string body)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        string json = body.Replace("LONG", new string('x', 70_000), StringComparison.Ordinal);
        JsonObject problem = await server.AskAsync(method, $"/api/v1/{path}", json, HttpStatusCode.BadRequest);
        Assert.Equal("InvalidArgument", (string?)problem["code"]);
        await server.AskAsync("GET", "/api/v1/topics");
    }

    [Fact]
    [EffectOf("Admin:RequestTimeout")]
    public async Task GivenTheLongestWait_WhenAReaderAsksForMore_ThenItIsRefusedAndThatMuchIsWaited()
    {
        await using AdminServer server = await AdminServer.StartAsync(
            admin => admin with { RequestTimeout = TimeSpan.FromSeconds(1) });
        await server.AskAsync("POST", "/api/v1/topics", """{"topic":"t"}""", HttpStatusCode.Created);
        const string Read = "/api/v1/topics/t/queues/0/messages?from=end&waitMs=";
        JsonObject problem = await server.AskAsync("GET", Read + "1001", status: HttpStatusCode.BadRequest);
        Assert.Equal("0 to 1000", (string?)problem["allowed"]);
        Assert.Empty((await server.AskAsync("GET", Read + "1000"))["messages"]!.AsArray());
    }

    [Fact]
    [EffectOf("Admin:MaxStreams")]
    public async Task GivenAsManyStreamsAsMayBe_WhenOneMoreIsAskedFor_ThenItIsRefused()
    {
        await using AdminServer server = await AdminServer.StartAsync(admin => admin with { MaxStreams = 1 });
        using HttpResponseMessage stream = await server.SendAsync("GET", "/api/v1/live");
        Assert.Equal("text/event-stream", stream.Content.Headers.ContentType!.MediaType);
        using HttpResponseMessage refused = await server.SendAsync("GET", "/api/v1/live");
        Assert.Equal(HttpStatusCode.ServiceUnavailable, refused.StatusCode);
        await server.AskAsync("GET", "/api/v1/topics");
    }

    [Fact]
    public async Task GivenAPeerThatTakesNothing_WhenItsAnswerIsLong_ThenItIsCutAndOthersGoOn()
    {
        await using AdminServer server = await AdminServer.StartAsync(
            admin => admin with
            {
                SlowPeerGrace = TimeSpan.FromSeconds(4),
                MaxRequests = 1,
                MaxBodyBytes = 16 << 20,
            },
            settings: ("Limits:MaxMessageBytes", "12000000"));
        // More than the system's buffers take.
        await server.AskAsync(
            "POST", "/api/v1/topics/t/messages",
            $$"""{"queue":0,"messages":[{"body":"{{new string('x', 10_000_000)}}"}]}""");
        using Socket slow = await TakePlaceAsync(
            server,
            "GET /api/v1/topics/t/queues/0/messages?encoding=base64 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        await Eventually.TrueAsync(async () => await StatusAsync(server) == HttpStatusCode.OK);
    }

    [Fact]
    public async Task GivenAPeerThatSendsNothing_WhenItsBodyIsWaitedFor_ThenItIsCutAndOthersGoOn()
    {
        await using AdminServer server = await AdminServer.StartAsync(
            admin => admin with { SlowPeerGrace = TimeSpan.FromSeconds(4), MaxRequests = 1 });
        using Socket slow = await TakePlaceAsync(
            server,
            "POST /api/v1/topics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n");
        await Eventually.TrueAsync(async () => await StatusAsync(server) == HttpStatusCode.OK);
    }

    [Fact]
    public async Task GivenABrokerThatIsNotThereYet_WhenAsked_ThenOnlyLifeIsTold()
    {
        await using AdminServer server = await AdminServer.StartAsync(isServing: false);
        Assert.Equal("live\n", await server.Http.GetStringAsync("/health/live", Token));
        using HttpResponseMessage ready = await server.SendAsync("GET", "/health/ready");
        Assert.Equal(HttpStatusCode.ServiceUnavailable, ready.StatusCode);
        JsonObject problem = await server.AskAsync("GET", "/api/v1/topics", status: HttpStatusCode.ServiceUnavailable);
        Assert.Equal(("Unreachable", 1000), ((string?)problem["code"], (int)problem["retryAfterMs"]!));
        await server.Broker.StartAsync(Token);
        Assert.Equal("ready\n", await server.Http.GetStringAsync("/health/ready", Token));
        await server.AskAsync("GET", "/api/v1/topics");
    }

    [Fact]
    public async Task GivenAServerThatBeginsToStop_WhenAsked_ThenItIsNotReadyAndStreamsEnd()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        using HttpResponseMessage stream = await server.SendAsync("GET", "/api/v1/live?intervalMs=60000");
        await using Stream events = await stream.Content.ReadAsStreamAsync(Token);
        await events.ReadExactlyAsync(new byte[16], Token);
        server.BeginStop();
        await events.CopyToAsync(Stream.Null, Token);
        using HttpResponseMessage ready = await server.SendAsync("GET", "/health/ready");
        Assert.Equal(HttpStatusCode.ServiceUnavailable, ready.StatusCode);
        Assert.Equal("live\n", await server.Http.GetStringAsync("/health/live", Token));
        JsonObject problem = await server.AskAsync("GET", "/api/v1/topics", status: HttpStatusCode.ServiceUnavailable);
        Assert.Equal("ShuttingDown", (string?)problem["code"]);
    }

    [Theory]
    [InlineData("Host", "evil.example", 421)]
    [InlineData("Host", "localhost:9491", 200)]
    [InlineData("Host", "[::1]", 200)]
    [InlineData("Origin", "http://evil.example", 403)]
    [InlineData("Origin", "null", 403)]
    public async Task GivenARequestThatABrowserSendsForAnotherSite_WhenAsked_ThenItIsRefused(
        string header, string value, int status)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        foreach (string path in (string[])["/api/v1/topics", "/api/v1/openapi.json", "/stats", "/metrics", "/"])
        {
            var request = new HttpRequestMessage(HttpMethod.Get, path);
            request.Headers.TryAddWithoutValidation(header, value);
            using HttpResponseMessage answer = await server.Http.SendAsync(request, Token);
            Assert.True(status == (int)answer.StatusCode, $"{path}: {(int)answer.StatusCode}");
            Assert.DoesNotContain(
                answer.Headers, one => one.Key.StartsWith("Access-Control", StringComparison.OrdinalIgnoreCase));
        }
    }

    [Fact]
    public async Task GivenAPreflightOrAForm_WhenSent_ThenNothingPermitsIt()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        using HttpResponseMessage preflight = await server.SendAsync("OPTIONS", "/api/v1/topics");
        Assert.Equal(HttpStatusCode.NoContent, preflight.StatusCode);
        Assert.Equal(["GET", "HEAD", "OPTIONS", "POST"], preflight.Content.Headers.Allow.Order(StringComparer.Ordinal));
        Assert.DoesNotContain(
            preflight.Headers, one => one.Key.StartsWith("Access-Control", StringComparison.OrdinalIgnoreCase));
        using HttpResponseMessage form = await server.Http.PostAsync(
            "/api/v1/topics", new StringContent("""{"topic":"t"}""", Encoding.UTF8, "text/plain"), Token);
        Assert.Equal(HttpStatusCode.UnsupportedMediaType, form.StatusCode);
        Assert.Empty((await server.AskAsync("GET", "/api/v1/topics"))["topics"]!.AsArray());
    }

    [Fact]
    public async Task GivenFiguresThatMove_WhenStreamed_ThenEventsTellLevelsRatesAndBacklogs()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await server.AskAsync("POST", "/api/v1/topics/t/messages", """{"messages":[{"body":"x"}],"queue":0}""");
        await server.AskAsync("POST", "/api/v1/groups/g/reset", """{"to":"begin","topic":"t"}""");
        using HttpResponseMessage stream = await server.SendAsync("GET", "/api/v1/live?intervalMs=100");
        using var reader = new StreamReader(await stream.Content.ReadAsStreamAsync(Token));
        JsonNode first = await ReadEventAsync(reader);
        Assert.Null(first["perSecond"]);
        Assert.Equal((1, 1), ((int)first["now"]!["topics"]!, (int)first["groups"]![0]!["backlog"]!));
        Assert.True((int)first["now"]!["connections"]! > 0);
        await server.AskAsync("POST", "/api/v1/topics/t/messages", """{"messages":[{"body":"y"},{"body":"z"}]}""");
        JsonNode next;
        do
        {
            next = await ReadEventAsync(reader);
        }
        while ((double)next["perSecond"]!["messages"]! == 0);
        Assert.True((double)next["perSecond"]!["writtenBytes"]! > 0);
    }

    private static async Task<JsonNode> ReadEventAsync(StreamReader reader)
    {
        while (await reader.ReadLineAsync(Token) is { } line)
        {
            if (line.StartsWith("data: ", StringComparison.Ordinal))
                return JsonNode.Parse(line["data: ".Length..])!;
        }

        throw new EndOfStreamException("The stream ended.");
    }

    private static async Task<long> ParkedAsync(AdminServer server) =>
        (long)(await server.AskAsync("GET", "/stats"))["broker.parkedFetches"]!;

    /// <summary>Asks again while the place of the request before is not given back yet.</summary>
    private static async Task TakePlaceAsync(AdminServer server, string path, CancellationToken gone)
    {
        HttpStatusCode status;
        do
        {
            using HttpResponseMessage answer = await server.Http.GetAsync(path, gone);
            status = answer.StatusCode;
        }
        while (status == HttpStatusCode.ServiceUnavailable);
    }

    /// <summary>A peer whose request has begun to be answered, that takes and sends nothing from then on, and beside
    /// which others were refused.</summary>
    private static async Task<Socket> TakePlaceAsync(AdminServer server, string request)
    {
        Socket? slow = null;
        await Eventually.TrueAsync(async () =>
        {
            slow?.Dispose();
            slow = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)
            {
                ReceiveBufferSize = 4_096,
            };
            await slow.ConnectAsync(server.EndPoint, Token);
            await slow.SendAsync(Encoding.ASCII.GetBytes(request), Token);
            byte[] status = new byte["HTTP/1.1 200".Length];
            await slow.ReceiveAsync(status, Token);
            return !status.AsSpan().SequenceEqual("HTTP/1.1 503"u8)
                && await StatusAsync(server) == HttpStatusCode.ServiceUnavailable;
        });
        return slow!;
    }

    private static async Task<HttpStatusCode> StatusAsync(AdminServer server)
    {
        using HttpResponseMessage answer = await server.SendAsync("GET", "/api/v1/topics");
        return answer.StatusCode;
    }
}
