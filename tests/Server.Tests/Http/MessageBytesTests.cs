using System.Net;
using System.Text.Json.Nodes;

namespace EQueue.Server.Tests.Http;

/// <summary>Bytes that are no text over HTTP: what is read can be sent again, and is the same.</summary>
public sealed class MessageBytesTests
{
    private const string Messages = "/api/v1/topics/t/messages";
    private const string Queue = "/api/v1/topics/t/queues/0/messages";

    /// <summary>FF FE 00 in base64: the bytes of a UTF-16 text's begin, and no UTF-8.</summary>
    private const string NoText = "//4A";

    [Fact]
    public async Task GivenBytesThatAreNoTextInEveryPlace_WhenSentReadAndSentAgain_ThenNothingOfThemIsLost()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server);
        const string message = $$"""
            {"keyBase64":"{{NoText}}","tagBase64":"{{NoText}}","bodyBase64":"{{NoText}}","properties":[
              {"nameBase64":"{{NoText}}","valueBase64":"{{NoText}}"},{"name":"plain","value":"text"}]}
            """;
        await server.AskAsync("POST", Messages, $$"""{"messages":[{{message}}]}""");
        JsonObject first = await ReadAsync(server, 0);
        Assert.Null(first["tag"]);
        Assert.Equal(NoText, (string?)first["tagBase64"]);
        Assert.Equal(
            $$"""[{"name":null,"nameBase64":"{{NoText}}","value":null,"valueBase64":"{{NoText}}"},{"name":"plain","nameBase64":null,"value":"text","valueBase64":null}]""",
            first["properties"]!.ToJsonString());

        await server.AskAsync("POST", Messages, $$"""{"messages":[{{ToSend(first).ToJsonString()}}]}""");
        JsonObject second = await ReadAsync(server, 1);
        Assert.Equal(ToSend(first).ToJsonString(), ToSend(second).ToJsonString());
    }

    [Fact]
    public async Task GivenATagAndANameThatAreText_WhenReadWithBase64_ThenTheyStayText()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server);
        await server.AskAsync(
            "POST", Messages, """{"messages":[{"tagBase64":"cGFpZA==","properties":[{"nameBase64":"YQ==","value":"1"}]}]}""");
        JsonObject read = await ReadAsync(server, 0, "?encoding=base64");
        Assert.Equal(("paid", null), ((string?)read["tag"], (string?)read["tagBase64"]));
        Assert.Equal("a", (string?)read["properties"]![0]!["name"]);
    }

    [Theory]
    [InlineData("""{"tag":"x","tagBase64":"eA=="}""", "messages[0].tag")]
    [InlineData("""{"properties":[{"name":"x","nameBase64":"eA=="}]}""", "messages[0].properties[0].name")]
    [InlineData("""{"properties":[{"value":"x"}]}""", "messages[0].properties[0].name")]
    [InlineData("""{"properties":[{"nameBase64":""}]}""", "messages[0].properties[0].name")]
    [InlineData("""{"properties":[{"nameBase64":"ZXEtdGFn"}]}""", "messages[0].properties[0].name")]
    public async Task GivenAWordTwiceOrNotAtAll_WhenSent_ThenTheProblemNamesIt(string message, string what)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server);
        JsonObject problem = await server.AskAsync(
            "POST", Messages, $$"""{"messages":[{{message}}]}""", HttpStatusCode.BadRequest);
        Assert.Equal(what, (string?)problem["what"]);
    }

    private static Task<JsonObject> CreateAsync(AdminServer server) => server.AskAsync(
        "POST", "/api/v1/topics", """{"topic":"t","settings":{"queueCount":1}}""", HttpStatusCode.Created);

    private static async Task<JsonObject> ReadAsync(AdminServer server, int offset, string query = "") =>
        await server.AskAsync("GET", $"{Queue}/{offset}{query}");

    /// <summary>What was read without what the broker gave it.</summary>
    private static JsonObject ToSend(JsonObject read)
    {
        JsonObject message = read.DeepClone().AsObject();
        foreach (string name in new[] { "topic", "queue", "offset", "createTime", "storedTime" })
            message.Remove(name);
        return message;
    }
}
