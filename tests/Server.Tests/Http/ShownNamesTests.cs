using System.Net.Http.Headers;
using System.Text;
using EQueue.Protocol;
using EQueue.Server.Http;
using EQueue.Support;

namespace EQueue.Server.Tests.Http;

/// <summary>What lists, figures and metrics show to somebody who may see some topics and groups.</summary>
public sealed class ShownNamesTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenRoutesWithoutANameInTheirPath_WhenSomebodyMaySeeSomeNames_ThenNoOtherIsToldByAny()
    {
        await using AdminServer server = await AdminServer.StartAsync(
            settings: ("Telemetry:GroupInterval", "00:00:00.100"));
        await using AskerClient owner = server.LinkOf(HttpIdentity.Owner);
        foreach (string name in (string[])["shown", "hidden"])
        {
            await server.AskAsync(
                "POST", "/api/v1/topics",
                $$"""{"topic":"{{name}}-topic","settings":{"maxBacklogMessages":9,"backlogGroups":["{{name}}-group"]} }""",
                System.Net.HttpStatusCode.Created);
            await server.AskAsync(
                "POST", $"/api/v1/topics/{name}-topic/messages", """{"messages":[{"body":"b"}],"queue":0}""");
            await server.AskAsync(
                "POST", $"/api/v1/groups/{name}-group/reset", $$"""{"to":"begin","topic":"{{name}}-topic"}""");
            await server.AskAsync(
                "PUT", "/api/v1/quotas",
                $$"""{"kind":"topic","name":"{{name}}-topic","produceBytesPerSecond":1000000}""");
        }

        await InvokeAsync(owner, new SetUserRequest("alice", null, null, null, MustBeNew: true));
        string token = (await owner.InvokeAsync(new CreateTokenRequest("alice", 0, ""), Patience, Token)).Token;
        foreach ((ResourceKind resource, string name) in ((ResourceKind, string)[])
            [(ResourceKind.Broker, ""), (ResourceKind.Topic, "shown-*"), (ResourceKind.Group, "shown-*")])
        {
            await InvokeAsync(owner, new SetRuleRequest(
                new AccessRule(RuleEffect.Allow, "user:alice", Permission.Describe, resource, name), false));
        }

        string[] paths =
        [
            .. server.Admin.EndPoints
                .Where(static one => one.Method == "GET" && !one.Pattern.Contains('{', StringComparison.Ordinal))
                .Select(static one => one.Pattern),
        ];
        var naming = new List<string>();
        foreach (string path in paths)
        {
            if (path is "/metrics" or "/api/v1/live")
                await Eventually.TrueAsync(async () => Names(await ReadAsync(server, path, null), "hidden-group"));
            string all = await ReadAsync(server, path, null);
            string some = await ReadAsync(server, path, token);
            Assert.False(Names(some, "hidden"), $"{path} tells: {some}");
            if (!Names(all, "hidden"))
                continue;
            Assert.True(Names(some, "shown"), $"{path} leaves out what may be seen: {some}");
            naming.Add(path);
        }

        Assert.Equal(
            ["/api/v1/groups", "/api/v1/live", "/api/v1/quotas", "/api/v1/stats", "/api/v1/topics", "/metrics", "/stats"],
            naming.Order(StringComparer.Ordinal));
        string metrics = await ReadAsync(server, "/metrics", token);
        Assert.Contains("equeue_topic_messages_total{messaging_destination_name=\"shown-topic\"} 1\n", metrics, StringComparison.Ordinal);
        Assert.Contains("equeue_group_backlog{messaging_consumer_group_name=\"shown-group\"", metrics, StringComparison.Ordinal);
    }

    private static bool Names(string text, string name) => text.Contains(name, StringComparison.Ordinal);

    /// <summary>The whole answer, or the first event of a stream.</summary>
    private static async Task<string> ReadAsync(AdminServer server, string path, string? token)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, path);
        if (token is not null)
            request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", token);
        using HttpResponseMessage answer = await server.Http.SendAsync(
            request, HttpCompletionOption.ResponseHeadersRead, Token);
        Assert.True(answer.IsSuccessStatusCode, $"{path}: {answer.StatusCode}");
        if (answer.Content.Headers.ContentType?.MediaType != "text/event-stream")
            return await answer.Content.ReadAsStringAsync(Token);
        using var reader = new StreamReader(await answer.Content.ReadAsStreamAsync(Token), Encoding.UTF8);
        var lines = new StringBuilder();
        while (await reader.ReadLineAsync(Token) is { Length: > 0 } line)
            lines.Append(line).Append('\n');
        return lines.ToString();
    }

    private static async Task InvokeAsync<TRequest>(AskerClient owner, IRequest<TRequest, Done> request)
        where TRequest : IRequest<TRequest, Done> => await owner.InvokeAsync(request, Patience, Token);
}
