using System.Globalization;
using System.Net;
using System.Text.Json.Nodes;
using EQueue.Server.Http;

namespace EQueue.Server.Tests.Http;

/// <summary>Times in parameters: ISO 8601 as the command line takes it, and nothing else.</summary>
public sealed class ApiTimeTests
{
    [Theory]
    [InlineData("01/02/2026")]
    [InlineData("2026/01/02")]
    [InlineData("2026-01-02 10:00")]
    [InlineData("2026-1-2")]
    [InlineData("10:00")]
    [InlineData("2026-01-31T10:00:00%2B0100")]
    public async Task GivenATimeThatIsNotOfIso8601_WhenAsked_ThenItIsRefused(string time)
    {
        await using AdminServer server = await StartAsync();
        string[] paths = ["offsets?time=", "queues/0/messages?from="];
        foreach (string path in paths)
        {
            JsonObject problem = await server.AskAsync(
                "GET", $"/api/v1/topics/orders/{path}{time}", status: HttpStatusCode.BadRequest);
            Assert.Contains("a time in ISO 8601", (string?)problem["allowed"], StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("2026-01-31", "2026-01-31T00:00:00Z")]
    [InlineData("2026-01-31T10:00", "2026-01-31T10:00:00Z")]
    [InlineData("2026-01-31T10:00:00+01:00", "2026-01-31T09:00:00Z")]
    [InlineData("2026-01-31T10:00:00.5Z", "2026-01-31T10:00:00.5Z")]
    public void GivenATimeOfIso8601_WhenRead_ThenItIsUtcUnlessItSaysOtherwise(string text, string instant)
    {
        Assert.True(ApiTime.TryReadMs(text, out long unixMs));
        Assert.Equal(
            DateTimeOffset.Parse(instant, CultureInfo.InvariantCulture),
            DateTimeOffset.FromUnixTimeMilliseconds(unixMs));
    }

    private static async Task<AdminServer> StartAsync()
    {
        AdminServer server = await AdminServer.StartAsync();
        await server.AskAsync("POST", "/api/v1/topics", """{"topic":"orders"}""", HttpStatusCode.Created);
        return server;
    }
}
