using System.Net;
using System.Net.Http.Headers;
using System.Text;
using System.Text.Json.Nodes;
using EQueue.Protocol;
using EQueue.Server.Http;
using EQueue.Support;

namespace EQueue.Server.Tests.Http;

/// <summary>Every route beside every right: without the right nothing is done, with it alone it is.</summary>
public sealed class RouteAccessTests : IAsyncLifetime
{
    private const string Topics = "/api/v1/topics";

    private AdminServer _server = null!;
    private AskerClient _owner = null!;
    private string _token = "";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    public async ValueTask InitializeAsync()
    {
        _server = await AdminServer.StartAsync();
        _owner = _server.LinkOf(HttpIdentity.Owner);
        foreach (string topic in (string[])["orders", "old"])
        {
            await _server.AskAsync(
                "POST", $"{Topics}/{topic}/messages", """{"queue":0,"messages":[{"body":"b","key":"k"}]}""");
        }

        foreach (string group in (string[])["billing", "leftover"])
            await _server.AskAsync("POST", $"/api/v1/groups/{group}/reset", """{"to":"begin","topic":"orders"}""");
        await _server.AskAsync("PUT", "/api/v1/quotas", """{"kind":"client","name":"d","requestsPerSecond":1000000}""");
        await AskAsync(new SetUserRequest(RouteCases.User, null, null, null, MustBeNew: true));
        _token = (await _owner.InvokeAsync(new CreateTokenRequest(RouteCases.User, 0, ""), Patience, Token)).Token;
        await SetAsync(new AccessRule(RuleEffect.Allow, "user:else", Permission.Read, ResourceKind.Topic, "else"));
    }

    public async ValueTask DisposeAsync()
    {
        await _owner.DisposeAsync();
        await _server.DisposeAsync();
    }

    [Fact]
    public void GivenEveryRoute_WhenLookedUp_ThenItHasACase()
    {
        string[] served = [.. _server.Admin.EndPoints.Select(static one => $"{one.Method} {one.Pattern}")];
        Assert.NotEmpty(served);
        Assert.Equal(
            served.Order(StringComparer.Ordinal),
            RouteCases.All.Select(static one => one.Route).Distinct().Order(StringComparer.Ordinal));
        Assert.Equal(
            served.Where(static one => !one.Contains(" /api/", StringComparison.Ordinal)).Order(StringComparer.Ordinal),
            AdminPaths.Pages.Select(static page => $"GET {page}").Order(StringComparer.Ordinal));
    }

    [Fact]
    public async Task GivenEveryRoute_WhenSomebodyAsksWhomNoRuleAllowsAnything_ThenItIsForbiddenAndNothingIsDone()
    {
        string before = await DumpAsync();
        foreach (RouteCase one in RouteCases.All)
        {
            Assert.True(await IsRefusedAsync(one) == one.Needs.Length > 0, $"{one}");
            if (one.Method != "GET")
                continue;
            HttpStatusCode status = (await SendAsync(one, "HEAD")).Status;
            bool mayBe = one.Needs.Length == 0 || one.IsLeftOut is not null;
            Assert.True(status == (mayBe ? HttpStatusCode.OK : HttpStatusCode.Forbidden), $"HEAD {one}: {status}");
        }

        Assert.Equal(before, await DumpAsync());
    }

    [Fact]
    public async Task GivenEveryRouteAndEveryRight_WhenAnotherRightIsGiven_ThenItIsForbiddenAndNothingIsDone()
    {
        string before = await DumpAsync();
        int asked = 0;
        foreach (IGrouping<string, RouteCase> about in RouteCases.All
            .Where(static one => one.Needs.Length > 0)
            .GroupBy(static one => one.Needs[0].Name.Length == 0 ? "orders" : one.Needs[0].Name))
        {
            foreach (AccessRule right in RouteCases.RightsAbout(about.Key))
            {
                if (!await TrySetAsync(right))
                    continue;
                foreach (RouteCase one in about)
                {
                    // What is seen with it changes nothing, and the last test has all that is done with it.
                    if (one.Needs.Any(need => RouteCases.Serves(right, need)))
                        continue;
                    Assert.True(await IsRefusedAsync(one), $"{one}: '{right}' is another right.");
                    asked++;
                }

                await SetAsync(right, isRemoved: true);
            }
        }

        Assert.True(asked > 150, $"{asked} requests: rights were left out.");
        Assert.Equal(before, await DumpAsync());
    }

    [Fact]
    public async Task GivenEveryRoute_WhenExactlyItsRightsAreGiven_ThenItIsDoneUnlessADenyStandsBeside()
    {
        foreach (RouteCase one in RouteCases.All.Where(static one => one.Needs.Length > 0))
        {
            foreach (AccessRule need in one.Needs)
                await SetAsync(need);
            string before = await DumpAsync();
            foreach (AccessRule need in one.Needs)
            {
                AccessRule deny = need with { Effect = RuleEffect.Deny };
                await SetAsync(deny);
                Assert.True(await IsRefusedAsync(one), $"{one}: '{deny}' stands beside.");
                await SetAsync(deny, isRemoved: true);
                if (one.Needs.Length == 1)
                    continue;
                await SetAsync(need, isRemoved: true);
                Assert.True(await IsRefusedAsync(one), $"{one}: without '{need}'.");
                await SetAsync(need);
            }

            Assert.Equal(before, await DumpAsync());
            Assert.False(await IsRefusedAsync(one), $"{one}: it is allowed.");
            if (one.Method != "GET")
                Assert.True(before != await DumpAsync() || one.Path.EndsWith("/queues", StringComparison.Ordinal), $"{one}");
            foreach (AccessRule need in one.Needs)
                await SetAsync(need, isRemoved: true);
        }
    }

    [Fact]
    public async Task GivenARightThatIncludesToSee_WhenWhatIsToBeSeenIsAskedFor_ThenItIsShown()
    {
        foreach (RouteCase one in RouteCases.All.Where(
            static one => one.Needs is [{ Permission: Permission.Describe, Resource: not ResourceKind.Broker }]))
        {
            foreach (AccessRule right in RouteCases.RightsAbout(one.Needs[0].Name)
                .Where(right => RouteCases.Serves(right, one.Needs[0])))
            {
                if (!await TrySetAsync(right))
                    continue;
                Assert.False(await IsRefusedAsync(one), $"{one}: '{right}' includes it.");
                await SetAsync(right, isRemoved: true);
            }
        }
    }

    private static TimeSpan Patience => TimeSpan.FromSeconds(60);

    /// <summary>Asks with the worker's token. Whatever is not a refusal has to be an answer without a problem.</summary>
    private async Task<bool> IsRefusedAsync(RouteCase one)
    {
        (HttpStatusCode status, string text) = await SendAsync(one, one.Method);
        if (status == HttpStatusCode.Forbidden)
        {
            Assert.Equal("NotAuthorized", (string?)JsonNode.Parse(text)!["code"]);
            return true;
        }

        Assert.True((int)status is >= 200 and < 300, $"{one}: {status}: {text}");
        return one.IsLeftOut?.Invoke(JsonNode.Parse(text)!) ?? false;
    }

    private async Task<(HttpStatusCode Status, string Text)> SendAsync(RouteCase one, string method)
    {
        using var request = new HttpRequestMessage(new HttpMethod(method), one.Path);
        request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", _token);
        if (one.Body is not null)
            request.Content = new StringContent(one.Body, Encoding.UTF8, "application/json");
        using HttpResponseMessage answer = await _server.Http.SendAsync(
            request, HttpCompletionOption.ResponseHeadersRead, Token);
        bool isStream = answer.Content.Headers.ContentType?.MediaType == "text/event-stream";
        return (answer.StatusCode, isStream ? "" : await answer.Content.ReadAsStringAsync(Token));
    }

    /// <summary>What the routes could have changed.</summary>
    private async Task<string> DumpAsync()
    {
        var all = new List<string>();
        foreach (string path in (string[])[Topics, "/api/v1/groups", "/api/v1/quotas", "/api/v1/groups/billing"])
            all.Add((await _server.AskAsync("GET", path)).ToJsonString());
        foreach (JsonNode? topic in JsonNode.Parse(all[0])!["topics"]!.AsArray())
        {
            all.Add((await _server.AskAsync("GET", $"{Topics}/{topic!["topic"]}")).ToJsonString());
            all.Add((await _server.AskAsync("GET", $"{Topics}/{topic["topic"]}/offsets?time=end")).ToJsonString());
        }

        return string.Join('\n', all);
    }

    private Task SetAsync(AccessRule rule, bool isRemoved = false) => AskAsync(new SetRuleRequest(rule, isRemoved));

    /// <summary>Gives a right, if there is such a one.</summary>
    private async Task<bool> TrySetAsync(AccessRule right)
    {
        try
        {
            await SetAsync(right);
            return true;
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.InvalidArgument)
        {
            return false;
        }
    }

    private async Task AskAsync<TRequest>(IRequest<TRequest, Done> request)
        where TRequest : IRequest<TRequest, Done> => await _owner.InvokeAsync(request, Patience, Token);
}
