using System.Net;
using System.Text.Json.Nodes;

namespace EQueue.Server.Tests.Http;

/// <summary>Bodies that are no JSON: where, as editors count.</summary>
public sealed class JsonPlaceTests
{
    [Theory]
    [InlineData("{\n  \"messages\": [\n    {\"body\" \"a\"}\n  ]\n}", "Line 3, column 13: ")]
    [InlineData("{ no JSON", "Line 1, column 3: ")]
    [InlineData("{\"messages\":", "Line 1, column 13: ")]
    public async Task GivenABodyThatIsNoJson_WhenSent_ThenLineAndColumnAreNamedAsEditorsCount(string body, string place)
    {
        await using AdminServer server = await StartAsync();
        JsonObject problem = await server.AskAsync(
            "POST", "/api/v1/topics/orders/messages", body, HttpStatusCode.BadRequest);
        Assert.Contains(place, (string?)problem["detail"], StringComparison.Ordinal);
        Assert.DoesNotContain("LineNumber", (string?)problem["detail"], StringComparison.Ordinal);
    }

    private static async Task<AdminServer> StartAsync()
    {
        AdminServer server = await AdminServer.StartAsync();
        await server.AskAsync("POST", "/api/v1/topics", """{"topic":"orders"}""", HttpStatusCode.Created);
        return server;
    }
}
