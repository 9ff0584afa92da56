using System.Net;
using System.Net.Http.Headers;
using System.Text.Json.Nodes;
using EQueue.Protocol;
using EQueue.Server.Http;
using EQueue.Support;
using Answer = EQueue.Server.Tests.Http.ForeignAsker.Answer;
using Question = EQueue.Server.Tests.Http.ForeignAsker.Question;

namespace EQueue.Server.Tests.Http;

/// <summary>Who may ask the admin port: the owner by the socket's user, others by their tokens, and nobody
/// else.</summary>
public sealed class HttpIdentityTests
{
    private const string Topics = "/api/v1/topics";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenProcessOfAnotherUser_WhenItAsksEveryRoute_ThenProbesAloneAnswerAndNothingIsDone()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await server.AskAsync("POST", Topics + "/t/messages", """{"queue":0,"messages":[{"body":"b","key":"k"}]}""");
        await server.AskAsync("POST", "/api/v1/groups/g/reset", """{"to":"begin","topic":"t"}""");
        await server.AskAsync("PUT", "/api/v1/quotas", """{"kind":"client","name":"c","produceBytesPerSecond":5}""");
        string before = await DumpAsync(server);
        Question[] tour =
        [
            .. OpenApiTests.Tour.Select(step => new Question(step.Method, step.Path, step.Body)),
            .. OpenApiTests.Tour.Where(step => step.Method == "GET").Select(step => new Question("HEAD", step.Path)),
        ];
        string[] probes = ["/health/live", "/health/ready"];
        string[] served = [.. server.Admin.EndPoints.Select(one => $"{one.Method} {one.Pattern}")];
        Assert.Equal(
            served.Length, OpenApiTests.Tour.Select(static step => step.Name).Distinct(StringComparer.Ordinal).Count());

        Answer[] answers = await ForeignAsker.AskAsync(server.EndPoint, tour);
        foreach ((Question question, Answer answer) in tour.Zip(answers))
        {
            string what = $"{question.Method} {question.Path}: {answer.Status} {answer.Text}";
            if (probes.Contains(question.Path))
            {
                Assert.True(answer.Status == HttpStatusCode.OK, what);
                continue;
            }

            Assert.True(answer.Status == HttpStatusCode.Unauthorized, what);
            Assert.Equal("Bearer", answer.Headers["WWW-Authenticate"]);
            if (question.Method == "HEAD")
                continue;
            Assert.StartsWith("application/problem+json", answer.Headers["Content-Type"], StringComparison.Ordinal);
            JsonNode problem = JsonNode.Parse(answer.Text)!;
            Assert.Equal("Unauthenticated", (string?)problem["code"]);
            Assert.Contains($"{ForeignAsker.User}", (string?)problem["detail"], StringComparison.Ordinal);
        }

        Assert.Equal(before, await DumpAsync(server));
    }

    [Fact]
    [EffectOf("Server:AllowUnauthenticatedLocalAccess")]
    public async Task GivenProcessOfAnotherUser_WhenAllOfTheMachineAreServed_ThenItIsUnlessAProxyCarriesItsRequest()
    {
        await using AdminServer server = await AdminServer.StartAsync(
            settings: ("Server:AllowUnauthenticatedLocalAccess", "true"));
        Answer[] answers = await ForeignAsker.AskAsync(
            server.EndPoint,
            new Question("POST", Topics, """{"topic":"t"}"""),
            new Question("GET", "/metrics"),
            new Question("GET", Topics, Headers: new() { ["X-Forwarded-For"] = "192.0.2.1" }));
        Assert.Equal(
            [HttpStatusCode.Created, HttpStatusCode.OK, HttpStatusCode.Unauthorized],
            answers.Select(static one => one.Status));
    }

    [Fact]
    public async Task GivenUserWithAToken_WhenAnotherProcessShowsIt_ThenItIsServedUntilTheTokenIsRevoked()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await using AskerClient owner = server.LinkOf(HttpIdentity.Owner);
        CreateTokenResponse token = await MakeTokenAsync(owner, "alice");
        Answer[] answers = await ForeignAsker.AskAsync(
            server.EndPoint,
            Question.WithToken(Topics, token.Token),
            Question.WithToken("/api/v1/live", token.Token),
            Question.WithToken(Topics, token.Token, "POST", """{"topic":"t"}"""),
            Question.WithToken("/stats", token.Token[..^1] + (token.Token[^1] == 'A' ? 'B' : 'A')),
            Question.WithToken(Topics, "x"),
            new Question("GET", Topics, Headers: new() { ["Authorization"] = "Basic YTpi" }),
            new Question("GET", Topics, Headers: new() { ["Authorization"] = "Bearer" }),
            new Question("GET", Topics, Headers: new() { ["Authorization"] = "" }));
        Assert.Equal([200, 200, 201, 401, 401, 401, 401, 401], answers.Select(static one => (int)one.Status));
        Assert.All(
            answers[3..], static one => Assert.Equal("Bearer error=\"invalid_token\"", one.Headers["WWW-Authenticate"]));
        await AskAsync(owner, new RevokeTokenRequest(token.Id));
        answers = await ForeignAsker.AskAsync(server.EndPoint, Question.WithToken(Topics, token.Token));
        Assert.Equal(HttpStatusCode.Unauthorized, answers[0].Status);
    }

    [Fact]
    public async Task GivenWrongToken_WhenTheOwnersProcessShowsIt_ThenItIsRefusedAllTheSame()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        using HttpResponseMessage answer = await AskAsync(server, Topics, "eqt_AAAAAAAA_nothing");
        Assert.Equal(HttpStatusCode.Unauthorized, answer.StatusCode);
        await server.AskAsync("GET", Topics);
    }

    [Theory]
    [InlineData("Forwarded", "for=192.0.2.1")]
    [InlineData("X-Forwarded-For", "127.0.0.1")]
    [InlineData("X-Real-IP", "127.0.0.1")]
    [InlineData("Via", "1.1 proxy")]
    public async Task GivenProxyOfTheOwners_WhenItCarriesARequest_ThenItsOwnIdentityDoesNotCount(
        string header, string value)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await using AskerClient owner = server.LinkOf(HttpIdentity.Owner);
        string token = (await MakeTokenAsync(owner, "alice")).Token;
        server.Http.DefaultRequestHeaders.TryAddWithoutValidation(header, value);
        using HttpResponseMessage refused = await server.SendAsync("GET", Topics);
        Assert.Equal(HttpStatusCode.Unauthorized, refused.StatusCode);
        using HttpResponseMessage served = await AskAsync(server, Topics, token);
        Assert.Equal(HttpStatusCode.OK, served.StatusCode);
    }

    [Fact]
    public async Task GivenProxyThatKeepsTheHost_WhenATokenIsShown_ThenTheNameIsNoReasonToRefuse()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await using AskerClient owner = server.LinkOf(HttpIdentity.Owner);
        string token = (await MakeTokenAsync(owner, "alice")).Token;
        server.Http.DefaultRequestHeaders.Host = "broker.example";
        using HttpResponseMessage served = await AskAsync(server, Topics, token);
        Assert.Equal(HttpStatusCode.OK, served.StatusCode);
        using HttpResponseMessage refused = await server.SendAsync("GET", Topics);
        Assert.Equal(HttpStatusCode.MisdirectedRequest, refused.StatusCode);
    }

    [Fact]
    public async Task GivenPortBeyondThisMachine_WhenABrowserHereIsLedToItByAName_ThenItIsRefused()
    {
        await using AdminServer server = await AdminServer.StartAsync(settings:
            [("Server:AdminListen", "0.0.0.0:0"), ("Server:AllowUnauthenticatedRemoteAccess", "true")]);
        using var http = new HttpClient { BaseAddress = new Uri($"http://127.0.0.1:{server.EndPoint.Port}") };
        Assert.Equal(HttpStatusCode.OK, (await http.GetAsync(Topics, Token)).StatusCode);
        http.DefaultRequestHeaders.Host = "evil.example";
        Assert.Equal(HttpStatusCode.MisdirectedRequest, (await http.GetAsync(Topics, Token)).StatusCode);
    }

    [Fact]
    public async Task GivenRules_WhenUsersAsk_ThenEachMayAndSeesWhatItsRulesSay()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await using AskerClient owner = server.LinkOf(HttpIdentity.Owner);
        string alice = (await MakeTokenAsync(owner, "alice")).Token;
        string bob = (await MakeTokenAsync(owner, "bob")).Token;
        foreach (string topic in (string[])["a", "b"])
        {
            await server.AskAsync("POST", $"{Topics}/{topic}/messages", """{"messages":[{"body":"x"}],"queue":0}""");
            await server.AskAsync("POST", $"/api/v1/groups/{topic}/reset", $$"""{"to":"begin","topic":"{{topic}}"}""");
        }

        foreach ((string user, string name) in ((string, string)[])[("alice", "a"), ("bob", "b")])
        {
            await AllowAsync(owner, user, Permission.Describe, ResourceKind.Topic, name);
            await AllowAsync(owner, user, Permission.Describe, ResourceKind.Group, name);
        }

        // Many at once: no link is lent to another than its own principal.
        await Task.WhenAll(Enumerable.Range(0, 24).Select(async i =>
        {
            JsonNode topics = await JsonAsync(server, Topics, i % 2 == 0 ? alice : bob);
            Assert.Equal(
                i % 2 == 0 ? "a" : "b", (string?)Assert.Single(topics["topics"]!.AsArray())!["topic"]);
        }));
        foreach (string page in (string[])["/stats", "/metrics", "/api/v1/stats", "/api/v1/live"])
        {
            using HttpResponseMessage refused = await AskAsync(server, page, alice);
            Assert.True(refused.StatusCode == HttpStatusCode.Forbidden, $"{page}: {refused.StatusCode}");
        }

        using HttpResponseMessage index = await AskAsync(server, "/", alice);
        Assert.Equal(HttpStatusCode.OK, index.StatusCode);
        await AllowAsync(owner, "alice", Permission.Describe, ResourceKind.Broker, "");
        foreach (string page in (string[])["/stats", "/metrics", "/api/v1/stats"])
        {
            using HttpResponseMessage served = await AskAsync(server, page, alice);
            Assert.True(served.StatusCode == HttpStatusCode.OK, $"{page}: {served.StatusCode}");
        }

        await server.AskAsync("GET", "/api/v1/stats");
    }

    [Fact]
    public async Task GivenLiveFigures_WhenAUserMaySeeSomeGroups_ThenThoseAreShownAndTheStreamEndsWithTheToken()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await using AskerClient owner = server.LinkOf(HttpIdentity.Owner);
        CreateTokenResponse token = await MakeTokenAsync(owner, "alice");
        foreach (string group in (string[])["a", "b"])
        {
            await server.AskAsync("POST", $"{Topics}/t/messages", """{"messages":[{"body":"x"}],"queue":0}""");
            await server.AskAsync("POST", $"/api/v1/groups/{group}/reset", """{"to":"begin","topic":"t"}""");
        }

        await AllowAsync(owner, "alice", Permission.Describe, ResourceKind.Group, "a");
        await AllowAsync(owner, "alice", Permission.Describe, ResourceKind.Broker, "");
        using HttpResponseMessage all = await server.SendAsync("GET", "/api/v1/live?intervalMs=100");
        using HttpResponseMessage some = await AskAsync(server, "/api/v1/live?intervalMs=100", token.Token);
        using var allReader = new StreamReader(await all.Content.ReadAsStreamAsync(Token));
        using var someReader = new StreamReader(await some.Content.ReadAsStreamAsync(Token));
        Assert.Equal(["a", "b"], GroupsOf(await EventAsync(allReader)));
        Assert.Equal(["a"], GroupsOf(await EventAsync(someReader)));
        await AskAsync(owner, new RevokeTokenRequest(token.Id));
        await someReader.ReadToEndAsync(Token).WaitAsync(TimeSpan.FromSeconds(30), Token);
        Assert.NotEmpty((await EventAsync(allReader))["now"]!.AsObject());
    }

    [Fact]
    public async Task GivenRuleThatNamesALocalUser_WhenItsProcessAsks_ThenItIsServedByThatRule()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await server.AskAsync("POST", Topics, """{"topic":"t"}""", HttpStatusCode.Created);
        await using AskerClient owner = server.LinkOf(HttpIdentity.Owner);
        await AskAsync(owner, new SetRuleRequest(
            new AccessRule(
                RuleEffect.Allow, $"local:{ForeignAsker.User}", Permission.Describe, ResourceKind.Topic, "*"),
            IsRemoved: false));
        Answer[] answers = await ForeignAsker.AskAsync(
            server.EndPoint, new Question("GET", Topics + "/t"), new Question("DELETE", Topics + "/t"));
        Assert.Equal(
            [HttpStatusCode.OK, HttpStatusCode.Forbidden], answers.Select(static one => one.Status));
    }

    [Fact]
    public async Task GivenBrokerThatDoesNotServeYet_WhenTheOwnerAndOthersAsk_ThenThePagesAreTheOwners()
    {
        await using AdminServer server = await AdminServer.StartAsync(isServing: false);
        foreach ((string path, HttpStatusCode status) in ((string, HttpStatusCode)[])
            [("/", HttpStatusCode.OK), ("/metrics", HttpStatusCode.OK), ("/stats", HttpStatusCode.ServiceUnavailable)])
        {
            using HttpResponseMessage answer = await server.SendAsync("GET", path);
            Assert.Equal(status, answer.StatusCode);
        }

        using HttpResponseMessage unknown = await AskAsync(server, "/metrics", "eqt_AAAAAAAA_x");
        Assert.Equal(HttpStatusCode.ServiceUnavailable, unknown.StatusCode);
        Answer[] answers = await ForeignAsker.AskAsync(
            server.EndPoint,
            [.. OpenApiTests.Tour.Select(static step => new Question(step.Method, step.Path, step.Body))]);
        Assert.All(OpenApiTests.Tour.Zip(answers), static one => Assert.Equal(
            one.First.Path == "/health/live" ? HttpStatusCode.OK : HttpStatusCode.ServiceUnavailable,
            one.Second.Status));
    }

    [Fact]
    public async Task GivenOneConnectionOfManyAskers_WhenTheyAsk_ThenEachHasItsOwnLinkAndTheLastEndsWithTheConnection()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await using AskerClient owner = server.LinkOf(HttpIdentity.Owner);
        string alice = (await MakeTokenAsync(owner, "alice")).Token;
        await AllowAsync(owner, "alice", Permission.Describe, ResourceKind.Topic, "a");
        await AskAsync(owner, new CreateTopicRequest("a", TopicSettings.None));
        await AskAsync(owner, new CreateTopicRequest("b", TopicSettings.None));
        using (var http = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = 1 }))
        {
            for (int i = 0; i < 10; i++)
            {
                using var request = new HttpRequestMessage(HttpMethod.Get, $"http://{server.EndPoint}{Topics}");
                if (i % 3 == 0)
                    request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", alice);
                using HttpResponseMessage answer = await http.SendAsync(request, Token);
                JsonNode told = JsonNode.Parse(await answer.Content.ReadAsStringAsync(Token))!;
                Assert.Equal(i % 3 == 0 ? 1 : 2, told["topics"]!.AsArray().Count);
            }

            await Eventually.TrueAsync(async () => await LinksAsync() == 2);
        }

        await Eventually.TrueAsync(async () => await LinksAsync() == 1);

        async Task<long?> LinksAsync() =>
            (await owner.InvokeAsync(new StatsRequest(), TimeSpan.FromSeconds(30), Token)).Find("broker.connections");
    }

    [Fact]
    public async Task GivenALinkThatIsKept_WhenAskedFor_ThenItIsLentOnceAndToItsOwnAskerAlone()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        var links = new AskerClients(
            server.Broker.InMemory!, server.Broker.MaxFrameBytes, TimeSpan.FromSeconds(30));
        var kept = new KeptClient();
        var alice = new InProcessWord("user:alice", "[::1]:7");
        AskerClient first = links.Rent(alice, kept);
        await AskerClients.ReturnAsync(first, isAtRest: true, kept);
        foreach (InProcessWord other in (InProcessWord[])
            [alice with { Principal = "user:bob" }, alice with { Address = "[::1]:8" }, alice with { Address = null }])
        {
            await using AskerClient another = links.Rent(other, kept);
            Assert.NotSame(first, another);
        }

        Assert.Same(first, links.Rent(alice, kept));
        await using AskerClient second = links.Rent(alice, kept);
        Assert.NotSame(first, second);
        await AskerClients.ReturnAsync(first, isAtRest: true, kept);
        await kept.DisposeAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(
            () => first.InvokeAsync(new StatsRequest(), TimeSpan.FromSeconds(30), Token).AsTask());
    }

    private static string[] GroupsOf(JsonNode told) =>
        [.. told["groups"]!.AsArray().Select(static one => (string)one!["group"]!)];

    private static async Task<JsonNode> EventAsync(StreamReader reader)
    {
        while (await reader.ReadLineAsync(Token) is { } line)
        {
            if (line.StartsWith("data: ", StringComparison.Ordinal))
                return JsonNode.Parse(line["data: ".Length..])!;
        }

        throw new EndOfStreamException("The stream ended.");
    }

    private static async Task<CreateTokenResponse> MakeTokenAsync(AskerClient owner, string user)
    {
        await AskAsync(owner, new SetUserRequest(user, null, null, null, MustBeNew: true));
        return await owner.InvokeAsync(new CreateTokenRequest(user, 0, ""), TimeSpan.FromSeconds(30), Token);
    }

    private static Task AllowAsync(
        AskerClient owner, string user, Permission permission, ResourceKind resource, string name) =>
        AskAsync(owner, new SetRuleRequest(
            new AccessRule(RuleEffect.Allow, $"user:{user}", permission, resource, name), IsRemoved: false));

    private static async Task AskAsync<TRequest, TResponse>(AskerClient owner, IRequest<TRequest, TResponse> request)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        await owner.InvokeAsync(request, TimeSpan.FromSeconds(30), Token);

    private static async Task<JsonNode> JsonAsync(AdminServer server, string path, string token)
    {
        using HttpResponseMessage answer = await AskAsync(server, path, token);
        string text = await answer.Content.ReadAsStringAsync(Token);
        Assert.True(answer.IsSuccessStatusCode, text);
        return JsonNode.Parse(text)!;
    }

    private static Task<HttpResponseMessage> AskAsync(AdminServer server, string path, string token)
    {
        var request = new HttpRequestMessage(HttpMethod.Get, path);
        request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", token);
        return server.Http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, Token);
    }

    /// <summary>What can be seen of all that a route could change.</summary>
    private static async Task<string> DumpAsync(AdminServer server)
    {
        var all = new List<string>();
        foreach (string path in (string[])
            [Topics, Topics + "/t", "/api/v1/groups", "/api/v1/groups/g", "/api/v1/quotas", Topics + "/t/offsets?time=end"])
        {
            all.Add((await server.AskAsync("GET", path)).ToJsonString());
        }

        return string.Join('\n', all);
    }
}
