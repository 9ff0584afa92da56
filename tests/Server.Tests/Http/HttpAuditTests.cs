using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Text;
using System.Text.Json.Nodes;
using EQueue.Protocol;
using EQueue.Server.Http;
using EQueue.Support;

namespace EQueue.Server.Tests.Http;

/// <summary>What is written down of requests over HTTP, and that they end with the credentials that they came
/// with.</summary>
public sealed class HttpAuditTests : IAsyncLifetime
{
    private const string Topics = "/api/v1/topics";

    /// <summary>An end is noticed within two seconds; the rest is for a loaded machine.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly TempDirectory _directory = new();
    private AdminServer _server = null!;
    private AskerClient _owner = null!;
    private CreateTokenResponse _token = null!;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private string AuditPath => _directory["audit.jsonl"];

    public async ValueTask InitializeAsync()
    {
        _server = await AdminServer.StartAsync(settings: ("Security:AuditFile", AuditPath));
        _owner = _server.LinkOf(HttpIdentity.Owner);
        await _server.AskAsync("POST", Topics, """{"topic":"t"}""", HttpStatusCode.Created);
        await AskAsync(new SetUserRequest("alice", null, null, null, MustBeNew: true));
        _token = await _owner.InvokeAsync(new CreateTokenRequest("alice", 0, ""), Patience, Token);
        await SetAsync("else", Permission.Read, ResourceKind.Topic, "x");
    }

    public async ValueTask DisposeAsync()
    {
        await _owner.DisposeAsync();
        await _server.DisposeAsync();
        _directory.Dispose();
    }

    [Fact]
    public async Task GivenRequestsOverSeveralConnections_WhenDoneAndRefused_ThenEachLineHasTheCallersOwnAddress()
    {
        await SetAsync("alice", Permission.Create, ResourceKind.Topic, "*");
        using Caller one = Connect();
        using Caller other = Connect();
        Assert.Equal(HttpStatusCode.Created, await one.SendAsync("POST", Topics, """{"topic":"a"}"""));
        Assert.Equal(HttpStatusCode.Created, await other.SendAsync("POST", Topics, """{"topic":"b"}"""));
        Assert.Equal(HttpStatusCode.Created, await one.SendAsync("POST", Topics, """{"topic":"c"}"""));
        Assert.Equal(HttpStatusCode.Forbidden, await other.SendAsync("DELETE", $"{Topics}/a"));
        Assert.Equal(HttpStatusCode.Forbidden, await one.SendAsync("GET", "/stats"));
        Assert.Equal(HttpStatusCode.Forbidden, await other.SendAsync("POST", $"{Topics}/a/messages", """{"messages":[{"body":"b"}]}"""));
        Assert.Equal(HttpStatusCode.Forbidden, await one.SendAsync("GET", $"{Topics}/a/queues/0/messages"));
        Assert.NotEqual(one.Address, other.Address);

        (string, string, string, string)[] expected =
        [
            ("CreateTopic", "topic:a", "done", one.Address),
            ("CreateTopic", "topic:b", "done", other.Address),
            ("CreateTopic", "topic:c", "done", one.Address),
            ("DeleteTopic", "topic:a", "NotAuthorized", other.Address),
            ("Stats", "", "NotAuthorized", one.Address),
            ("Produce", "topic:a", "NotAuthorized", other.Address),
            ("Fetch", "topic:a", "NotAuthorized", one.Address),
        ];
        JsonNode[] lines = [];
        await Eventually.TrueAsync(() =>
        {
            lines = [.. Lines().Where(static line => (string?)line["principal"] == "user:alice")];
            return lines.Length >= expected.Length;
        });
        Assert.Equal(expected, lines.Select(static line => (
            (string)line["operation"]!, (string)line["resource"]!, (string)line["outcome"]!, (string)line["address"]!)));
        JsonObject figures = await _server.AskAsync("GET", "/stats");
        Assert.Equal((4, 0), ((int)figures["broker.unauthorizedRequests"]!, (int)figures["audit.lost"]!));
    }

    [Fact]
    public async Task GivenARequestThatWaits_WhenItsTokenIsRevoked_ThenItIsRefusedSoon() =>
        await AssertEndsAsync(
            $"{Topics}/t/queues/0/messages?waitMs=30000",
            HttpStatusCode.Unauthorized,
            () => AskAsync(new RevokeTokenRequest(_token.Id)));

    [Fact]
    public async Task GivenARequestThatWaits_WhenItsUserIsDisabled_ThenItIsRefusedSoon() =>
        await AssertEndsAsync(
            $"{Topics}/t/queues/0/messages?waitMs=30000",
            HttpStatusCode.Unauthorized,
            () => AskAsync(new SetUserRequest("alice", null, true, null, MustBeNew: false)));

    [Fact]
    public async Task GivenARequestThatWaits_WhenItsRuleIsRemoved_ThenItIsRefusedSoon() =>
        await AssertEndsAsync(
            $"{Topics}/t/queues/0/messages?waitMs=30000",
            HttpStatusCode.Forbidden,
            () => SetAsync("alice", Permission.Read, ResourceKind.Topic, "t", isRemoved: true));

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenALiveStreamOfFewEvents_WhenTheTokenOrTheRuleEnds_ThenItEndsSoon(bool isToken)
    {
        await SetAsync("alice", Permission.Describe, ResourceKind.Broker, "");
        using Caller caller = Connect();
        using HttpResponseMessage answer = await caller.AskAsync("GET", "/api/v1/live?intervalMs=60000");
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        using var reader = new StreamReader(await answer.Content.ReadAsStreamAsync(Token));
        Assert.Equal("event: figures", await reader.ReadLineAsync(Token));
        if (isToken)
            await AskAsync(new RevokeTokenRequest(_token.Id));
        else
            await SetAsync("alice", Permission.Describe, ResourceKind.Broker, "", isRemoved: true);
        string rest = await reader.ReadToEndAsync(Token).WaitAsync(TimeSpan.FromSeconds(40), Token);
        Assert.DoesNotContain("event:", rest, StringComparison.Ordinal);
    }

    private async Task AssertEndsAsync(string path, HttpStatusCode status, Func<Task> end)
    {
        await SetAsync("alice", Permission.Read, ResourceKind.Topic, "t");
        using Caller caller = Connect();
        Task<HttpStatusCode> asking = caller.SendAsync("GET", path);
        await Eventually.TrueAsync(async () =>
            (int)(await _server.AskAsync("GET", "/stats"))["broker.parkedFetches"]! == 1);
        await end();
        Assert.Equal(status, await asking.WaitAsync(TimeSpan.FromSeconds(40), Token));
        await Eventually.TrueAsync(async () =>
            (int)(await _server.AskAsync("GET", "/stats"))["broker.parkedFetches"]! == 0);
    }

    private Caller Connect() => new(_server.EndPoint, _token.Token);

    private IEnumerable<JsonNode> Lines()
    {
        using var stream = new FileStream(AuditPath, FileMode.Open, FileAccess.Read, FileShare.ReadWrite);
        using var reader = new StreamReader(stream, Encoding.UTF8);
        string text = reader.ReadToEnd();
        return [.. text[..(text.LastIndexOf('\n') + 1)].Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(static line => JsonNode.Parse(line)!)];
    }

    private Task SetAsync(
        string user, Permission permission, ResourceKind resource, string name, bool isRemoved = false) =>
        AskAsync(new SetRuleRequest(
            new AccessRule(RuleEffect.Allow, $"user:{user}", permission, resource, name), isRemoved));

    private async Task AskAsync<TRequest>(IRequest<TRequest, Done> request)
        where TRequest : IRequest<TRequest, Done> => await _owner.InvokeAsync(request, Patience, Token);

    /// <summary>One connection with a token.</summary>
    private sealed class Caller : IDisposable
    {
        private readonly HttpClient _http;

        public Caller(IPEndPoint server, string token)
        {
            var handler = new SocketsHttpHandler
            {
                MaxConnectionsPerServer = 1,
                ConnectCallback = async (context, cancellationToken) =>
                {
                    var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                    await socket.ConnectAsync(server, cancellationToken);
                    Address = $"{ToV4((IPEndPoint)socket.LocalEndPoint!)}";
                    return new NetworkStream(socket, ownsSocket: true);
                },
            };
            _http = new HttpClient(handler) { BaseAddress = new Uri($"http://{server}") };
            _http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token);
        }

        /// <summary>Its own end.</summary>
        public string Address { get; private set; } = "";

        public async Task<HttpStatusCode> SendAsync(string method, string path, string? json = null)
        {
            using HttpResponseMessage answer = await AskAsync(method, path, json);
            await answer.Content.ReadAsByteArrayAsync(Token);
            return answer.StatusCode;
        }

        public Task<HttpResponseMessage> AskAsync(string method, string path, string? json = null)
        {
            var request = new HttpRequestMessage(new HttpMethod(method), path);
            if (json is not null)
                request.Content = new StringContent(json, Encoding.UTF8, "application/json");
            return _http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, Token);
        }

        public void Dispose() => _http.Dispose();

        private static IPEndPoint ToV4(IPEndPoint end) =>
            end.Address.IsIPv4MappedToIPv6 ? new IPEndPoint(end.Address.MapToIPv4(), end.Port) : end;
    }
}
