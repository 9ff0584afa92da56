using System.Text.Json.Nodes;
using EQueue.Server.Http;

namespace EQueue.Server.Tests.Http;

/// <summary>The API's description says what is served, and what is served keeps to it.</summary>
public sealed class OpenApiTests
{
    private const string Topics = "/api/v1/topics";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    /// <summary>One request or more for each route, in an order in which they succeed.</summary>
    internal static readonly (string Name, string Method, string Path, string? Body)[] Tour =
    [
        ("readIndex", "GET", "/", null),
        ("readLive", "GET", "/health/live", null),
        ("readReady", "GET", "/health/ready", null),
        ("readFigures", "GET", "/stats", null),
        ("readMetrics", "GET", "/metrics", null),
        ("describeApi", "GET", "/api/v1/openapi.json", null),
        ("describeBroker", "GET", "/api/v1/broker", null),
        ("readStats", "GET", "/api/v1/stats", null),
        ("createTopic", "POST", Topics, """{"topic":"t","settings":{"queueCount":2,"backlogPolicy":"reject"}}"""),
        ("listTopics", "GET", Topics + "?after=a&limit=5", null),
        ("describeTopic", "GET", Topics + "/t", null),
        ("alterTopic", "PATCH", Topics + "/t", """{"retentionMs":60000}"""),
        ("alterQueues", "PATCH", Topics + "/t/queues", """{"queues":[1],"readable":true}"""),
        ("sendMessages", "POST", Topics + "/t/messages",
            """{"messages":[{"body":"b","key":"k","tag":"x","properties":[{"name":"n","value":"v"}]},{"bodyBase64":"/w=="}]}"""),
        ("findOffsets", "GET", Topics + "/t/offsets?time=end", null),
        ("readMessages", "GET", Topics + "/t/queues/0/messages?from=begin&limit=9", null),
        ("readMessages", "GET", Topics + "/t/queues/1/messages?encoding=base64", null),
        ("readMessage", "GET", Topics + "/t/queues/0/messages/0", null),
        ("readLatest", "GET", Topics + "/t/messages/latest?count=2", null),
        ("findByKey", "GET", Topics + "/t/messages/by-key?key=k", null),
        ("resetGroup", "POST", "/api/v1/groups/g/reset", """{"to":"begin","topic":"t"}"""),
        ("listGroups", "GET", "/api/v1/groups", null),
        ("describeGroup", "GET", "/api/v1/groups/g?ages=true", null),
        ("explainMessage", "GET", Topics + "/t/queues/0/messages/0/explain?group=g", null),
        ("deleteGroup", "DELETE", "/api/v1/groups/g", null),
        ("setQuota", "PUT", "/api/v1/quotas", """{"kind":"client","name":"c","produceBytesPerSecond":5}"""),
        ("listQuotas", "GET", "/api/v1/quotas", null),
        ("removeQuota", "DELETE", "/api/v1/quotas?kind=client&name=c", null),
        ("streamLive", "GET", "/api/v1/live", null),
        ("deleteTopic", "DELETE", Topics + "/t", null),
    ];

    [Fact]
    public async Task GivenTheRoutes_WhenComparedWithTheDescription_ThenEachIsInItAndNothingElse()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        JsonObject document = await server.AskAsync("GET", "/api/v1/openapi.json");
        string[] described =
        [
            .. document["paths"]!.AsObject().SelectMany(path => path.Value!.AsObject()
                .Select(operation => $"{operation.Key.ToUpperInvariant()} {path.Key}")),
        ];
        string[] served = [.. server.Admin.EndPoints.Select(route => $"{route.Method} {route.Pattern}")];
        Assert.NotEmpty(served);
        Assert.Equal(served.Order(StringComparer.Ordinal), described.Order(StringComparer.Ordinal));
        Assert.Equal("3.1.0", (string?)document["openapi"]);
    }

    [Fact]
    public async Task GivenEveryRoute_WhenAsked_ThenItAnswersAsTheDescriptionSays()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        JsonObject document = await server.AskAsync("GET", "/api/v1/openapi.json");
        var operations = document["paths"]!.AsObject()
            .SelectMany(path => path.Value!.AsObject())
            .ToDictionary(one => (string)one.Value!["operationId"]!, one => one.Value!);
        Assert.Equal(
            operations.Keys.Order(StringComparer.Ordinal),
            Tour.Select(step => step.Name).Distinct().Order(StringComparer.Ordinal));
        foreach ((string name, string method, string path, string? body) in Tour)
        {
            using HttpResponseMessage answer = await server.SendAsync(method, path, body);
            JsonNode? promised = operations[name]["responses"]![$"{(int)answer.StatusCode}"];
            Assert.True(promised is not null, $"{name} answered {(int)answer.StatusCode}");
            if (body is not null)
                AssertFits(JsonNode.Parse(body), operations[name]["requestBody"]!["content"]!, "application/json", document, name);
            string text = name == "streamLive" ? await ReadEventAsync(answer) : await answer.Content.ReadAsStringAsync(Token);
            if (promised["content"] is not { } content)
            {
                Assert.Empty(text);
                continue;
            }

            string type = answer.Content.Headers.ContentType!.MediaType!;
            AssertFits(type is "text/plain" or "text/html" ? text : JsonNode.Parse(text), content, type, document, name);
        }
    }

    [Theory]
    [InlineData("GET", "/api/v1/topics/none", null, 404)]
    [InlineData("GET", "/api/v1/nothing", null, 404)]
    [InlineData("PUT", "/api/v1/stats", null, 405)]
    [InlineData("POST", Topics, "{", 400)]
    [InlineData("POST", Topics, """{"topic":"a b"}""", 400)]
    public async Task GivenARequestThatFails_WhenAnswered_ThenTheProblemKeepsToItsDescription(
        string method, string path, string? body, int status)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        JsonObject document = await server.AskAsync("GET", "/api/v1/openapi.json");
        using HttpResponseMessage answer = await server.SendAsync(method, path, body);
        JsonNode problem = JsonNode.Parse(await answer.Content.ReadAsStringAsync(Token))!;
        Assert.Equal(status, (int)answer.StatusCode);
        Assert.Equal("application/problem+json", answer.Content.Headers.ContentType!.MediaType);
        Assert.Empty(SchemaCheck.Find(problem, document["components"]!["schemas"]![nameof(ApiProblem)]!));
        Assert.Equal(status, (int?)problem["status"]);
    }

    private static void AssertFits(JsonNode? value, JsonNode content, string type, JsonObject document, string name)
    {
        JsonNode? schema = content[type]?["schema"];
        Assert.True(schema is not null, $"{name} does not promise {type}");
        if ((string?)schema["$ref"] is { } reference)
            schema = document["components"]!["schemas"]![reference.Split('/')[^1]]!;
        string[] faults = [.. SchemaCheck.Find(value, schema)];
        Assert.True(faults.Length == 0, $"{name}: {string.Join("; ", faults)}");
    }

    private static async Task<string> ReadEventAsync(HttpResponseMessage answer)
    {
        using var reader = new StreamReader(await answer.Content.ReadAsStreamAsync(Token));
        Assert.Equal("event: figures", await reader.ReadLineAsync(Token));
        string line = (await reader.ReadLineAsync(Token))!;
        Assert.StartsWith("data: ", line, StringComparison.Ordinal);
        return line["data: ".Length..];
    }
}
