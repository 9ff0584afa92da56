using System.Net;
using System.Text.Json.Nodes;

namespace EQueue.Server.Tests.Http;

/// <summary>Slips of the pen over HTTP: near names, and topics that a slip makes.</summary>
public sealed class SlipTests
{
    private const string One = """{"messages":[{"body":"a"}]}""";

    [Theory]
    [InlineData("GET", "/api/v1/topics/ordres", null)]
    [InlineData("DELETE", "/api/v1/topics/ordres", null)]
    [InlineData("PATCH", "/api/v1/topics/ordres", """{"queueCount":5}""")]
    [InlineData("GET", "/api/v1/topics/ordres/queues/0/messages", null)]
    [InlineData("POST", "/api/v1/topics/ordres/messages", """{"messages":[{"body":"a"}],"createTopic":false}""")]
    [InlineData("GET", "/api/v1/groups/billing?topic=ordres", null)]
    [InlineData("GET", "/api/v1/groups/biling", null)]
    [InlineData("DELETE", "/api/v1/groups/biling", null)]
    public async Task GivenANameNearOneThatThereIs_WhenAsked_ThenTheProblemAsksForIt(
        string method, string path, string? body)
    {
        await using AdminServer server = await StartAsync();
        JsonObject problem = await server.AskAsync(method, path, body, HttpStatusCode.NotFound);
        string near = (string?)problem["code"] == "UnknownTopic" ? "orders" : "billing";
        Assert.EndsWith($" Did you mean '{near}'?", (string?)problem["detail"], StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenANameNearNone_WhenAsked_ThenNothingIsGuessed()
    {
        await using AdminServer server = await StartAsync();
        JsonObject problem = await server.AskAsync("GET", "/api/v1/topics/xyzzy", status: HttpStatusCode.NotFound);
        Assert.DoesNotContain("Did you mean", (string?)problem["detail"], StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenATopicThatASendMakes_WhenAnswered_ThenItSaysSoThatOnce()
    {
        await using AdminServer server = await StartAsync();
        Assert.False((bool)(await server.AskAsync("POST", "/api/v1/topics/orders/messages", One))["topicCreated"]!);
        Assert.True((bool)(await server.AskAsync("POST", "/api/v1/topics/ordres/messages", One))["topicCreated"]!);
        Assert.False((bool)(await server.AskAsync("POST", "/api/v1/topics/ordres/messages", One))["topicCreated"]!);
    }

    /// <summary>A server with the topic orders, where the group billing has progress.</summary>
    private static async Task<AdminServer> StartAsync()
    {
        AdminServer server = await AdminServer.StartAsync();
        await server.AskAsync("POST", "/api/v1/topics", """{"topic":"orders"}""", HttpStatusCode.Created);
        await server.AskAsync("POST", "/api/v1/groups/billing/reset", """{"topic":"orders","to":"begin"}""");
        return server;
    }
}
