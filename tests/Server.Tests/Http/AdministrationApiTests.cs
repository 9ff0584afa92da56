using System.Net;
using System.Text.Json.Nodes;
using EQueue.Protocol;
using EQueue.Server.Http;

namespace EQueue.Server.Tests.Http;

/// <summary>Topics, groups and quotas over HTTP: what the broker's own operations do.</summary>
public sealed class AdministrationApiTests
{
    private const string Topics = "/api/v1/topics";
    private const string Quotas = "/api/v1/quotas";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenATopic_WhenMadeAlteredListedAndDeleted_ThenTheBrokerHasItSo()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        const string Settings = """
            {"queueCount":3,"retentionMs":60000,"retentionBytes":1000000,"retentionCount":50,"maxMessageBytes":2000,
             "maxBacklogMessages":10,"maxBacklogBytes":20000,"backlogPolicy":"dropOldest","backlogGroups":["g","h"]}
            """;
        using HttpResponseMessage made = await server.SendAsync("POST", Topics, $$"""{"topic":"t","settings":{{Settings}}}""");
        Assert.Equal(HttpStatusCode.Created, made.StatusCode);
        Assert.Equal($"{Topics}/t", $"{made.Headers.Location}");
        JsonObject topic = await server.AskAsync("GET", $"{Topics}/t");
        Assert.True(JsonNode.DeepEquals(JsonNode.Parse(Settings), topic["settings"]), topic.ToJsonString());
        Assert.Equal(3, topic["queues"]!.AsArray().Count);

        topic = await server.AskAsync("PATCH", $"{Topics}/t", """{"queueCount":4,"backlogPolicy":"block"}""");
        Assert.Equal((4, "block", 60000), (
            (int)topic["settings"]!["queueCount"]!,
            (string?)topic["settings"]!["backlogPolicy"],
            (int)topic["settings"]!["retentionMs"]!));
        await server.AskAsync("POST", Topics, """{"topic":"u"}""", HttpStatusCode.Created);
        JsonObject page = await server.AskAsync("GET", $"{Topics}?limit=1");
        Assert.Equal(("t", true), ((string?)page["topics"]![0]!["topic"], (bool)page["hasMore"]!));
        page = await server.AskAsync("GET", $"{Topics}?after=t");
        Assert.Equal(("u", false), ((string?)page["topics"]![0]!["topic"], (bool)page["hasMore"]!));

        await server.AskAsync("DELETE", $"{Topics}/t", status: HttpStatusCode.NoContent);
        JsonObject gone = await server.AskAsync("GET", $"{Topics}/t", status: HttpStatusCode.NotFound);
        Assert.Equal("UnknownTopic", (string?)gone["code"]);
    }

    [Fact]
    public async Task GivenQueues_WhenTheirStatesAreAltered_ThenOnlyWhatIsNamedChanges()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await server.AskAsync("POST", Topics, """{"topic":"t","settings":{"queueCount":2}}""", HttpStatusCode.Created);
        await server.AskAsync("PATCH", $"{Topics}/t/queues", """{"queues":[0],"writable":false}""");
        JsonObject topic = await server.AskAsync("PATCH", $"{Topics}/t/queues", """{"readable":false}""");
        Assert.Equal(
            [(false, false), (true, false)],
            topic["queues"]!.AsArray().Select(queue => ((bool)queue!["writable"]!, (bool)queue["readable"]!)));
        JsonObject refused = await server.AskAsync("GET", $"{Topics}/t/queues/1/messages", status: HttpStatusCode.Conflict);
        Assert.Equal("QueueNotReadable", (string?)refused["code"]);
    }

    [Fact]
    public async Task GivenAGroup_WhenResetWithPreviewAndWithout_ThenOnlyTheLatterIsStored()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await SendAsync(server, 5);
        const string Reset = "/api/v1/groups/g/reset";
        await server.AskAsync("POST", Reset, """{"to":"offset","value":2,"topic":"t"}""");
        JsonObject preview = await server.AskAsync("POST", Reset, """{"to":"end","topic":"t","preview":true}""");
        Assert.Equal(
            (true, 2, 5),
            ((bool)preview["preview"]!, (int)preview["queues"]![0]!["from"]!, (int)preview["queues"]![0]!["to"]!));
        JsonObject group = await server.AskAsync("GET", "/api/v1/groups/g?ages=true");
        Assert.Equal((3, 2), ((int)group["backlog"]!, (int)group["queues"]![0]!["committed"]!));
        Assert.True((long?)group["queues"]![0]!["lagMs"] >= 0);

        await server.AskAsync("POST", Reset, """{"to":"shiftBy","value":-1}""");
        Assert.Equal(4, (int)(await server.AskAsync("GET", "/api/v1/groups/g"))["backlog"]!);
        await server.AskAsync("POST", Reset, """{"to":"time","time":"2001-01-01T00:00:00Z","queues":[0],"topic":"t"}""");
        Assert.Equal(5, (int)(await server.AskAsync("GET", "/api/v1/groups/g?topic=t"))["backlog"]!);
        Assert.Equal("g", (string?)(await server.AskAsync("GET", "/api/v1/groups"))["groups"]![0]!["group"]);
        await server.AskAsync("DELETE", "/api/v1/groups/g", status: HttpStatusCode.NoContent);
        await server.AskAsync("GET", "/api/v1/groups/g", status: HttpStatusCode.NotFound);
    }

    [Fact]
    public async Task GivenAGroupWithAMember_WhenResetOrDeleted_ThenItIsBusyAndTheMemberIsTold()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await SendAsync(server, 1);
        await using AskerClient member = server.LinkOf(HttpIdentity.Owner);
        await member.InvokeAsync(
            new GroupHeartbeatRequest
            {
                Group = "g",
                Member = Guid.NewGuid(),
                Subscriptions = [new TopicSubscription("t", ["x"])],
            },
            TimeSpan.FromSeconds(30),
            Token);
        JsonObject busy = await server.AskAsync(
            "POST", "/api/v1/groups/g/reset", """{"to":"end","topic":"t"}""", HttpStatusCode.Conflict);
        Assert.Equal(("GroupBusy", true), ((string?)busy["code"], (bool)busy["retriable"]!));
        await server.AskAsync("DELETE", "/api/v1/groups/g", status: HttpStatusCode.Conflict);
        JsonObject group = await server.AskAsync("GET", "/api/v1/groups/g");
        JsonNode found = Assert.Single(group["members"]!.AsArray())!;
        Assert.Equal(AskerClient.ClientName, (string?)found["client"]);
        Assert.Equal("x", (string?)found["subscriptions"]![0]!["tags"]![0]);
        Assert.Equal((string?)found["member"], (string?)group["queues"]![0]!["owner"]);
    }

    [Fact]
    public async Task GivenAQuota_WhenSetListedAndRemoved_ThenTheBrokerHasItSo()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        const string Quota =
            """{"kind":"topic","name":"*","produceBytesPerSecond":1,"fetchBytesPerSecond":2,"requestsPerSecond":3}""";
        await server.AskAsync("PUT", Quotas, Quota);
        JsonNode listed = Assert.Single((await server.AskAsync("GET", Quotas))["quotas"]!.AsArray())!;
        Assert.True(JsonNode.DeepEquals(JsonNode.Parse(Quota), listed));
        await server.AskAsync("DELETE", $"{Quotas}?kind=topic&name=*", status: HttpStatusCode.NoContent);
        Assert.Empty((await server.AskAsync("GET", Quotas))["quotas"]!.AsArray());
        JsonObject refused = await server.AskAsync(
            "PUT", Quotas, """{"kind":"topic","name":"t","requestsPerSecond":-1}""", HttpStatusCode.BadRequest);
        Assert.Equal("InvalidArgument", (string?)refused["code"]);
    }

    [Theory]
    [InlineData("POST", Topics, """{"topic":"t"}""", 409, "TopicExists")]
    [InlineData("POST", Topics, """{"topic":"."}""", 400, "InvalidName")]
    [InlineData("POST", Topics, """{"topic":"v","settings":{"queueCount":0}}""", 400, "InvalidArgument")]
    [InlineData("POST", Topics, """{"topic":"v","settings":{"queueCount":99999}}""", 409, "TooManyQueues")]
    [InlineData("POST", Topics, """{"topic":"v","settings":{"retentionMs":-1}}""", 400, "InvalidArgument")]
    [InlineData("PATCH", Topics + "/t", """{"queueCount":1}""", 400, "InvalidArgument")]
    [InlineData("PATCH", Topics + "/none", """{}""", 404, "UnknownTopic")]
    [InlineData("PATCH", Topics + "/t/queues", """{"queues":[0]}""", 400, "InvalidArgument")]
    [InlineData("PATCH", Topics + "/t/queues", """{"queues":[9],"writable":true}""", 400, "InvalidArgument")]
    [InlineData("DELETE", Topics + "/none", null, 404, "UnknownTopic")]
    [InlineData("GET", Topics + "?limit=1001", null, 400, "InvalidArgument")]
    [InlineData("GET", Topics + "?page=1", null, 400, "InvalidArgument")]
    [InlineData("GET", "/api/v1/groups/none", null, 404, "UnknownGroup")]
    [InlineData("GET", "/api/v1/groups/none?ages=yes", null, 400, "InvalidArgument")]
    [InlineData("POST", "/api/v1/groups/g/reset", """{"to":"offset","topic":"t"}""", 400, "InvalidArgument")]
    [InlineData("POST", "/api/v1/groups/g/reset", """{"to":"end","topic":"t","value":1}""", 400, "InvalidArgument")]
    [InlineData("POST", "/api/v1/groups/g/reset", """{"to":"time","topic":"t"}""", 400, "InvalidArgument")]
    [InlineData("POST", "/api/v1/groups/g/reset", """{"to":"end"}""", 404, "UnknownGroup")]
    [InlineData("DELETE", Quotas + "?kind=client", null, 400, "InvalidArgument")]
    [InlineData("DELETE", Quotas + "?kind=group&name=g", null, 400, "InvalidArgument")]
    public async Task GivenARequestThatCannotBe_WhenAsked_ThenTheStatusAndTheCodeSayWhy(
        string method, string path, string? body, int status, string code)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await server.AskAsync("POST", Topics, """{"topic":"t","settings":{"queueCount":2}}""", HttpStatusCode.Created);
        JsonObject problem = await server.AskAsync(method, path, body, (HttpStatusCode)status);
        Assert.Equal(code, (string?)problem["code"]);
        Assert.Equal($"urn:equeue:error:{code}", (string?)problem["type"]);
        Assert.NotEmpty((string)problem["detail"]!);
    }

    [Fact]
    public void GivenEveryErrorCode_WhenMapped_ThenItIsAnErrorInHttpAndRetriableOnesAreNotTheAskersFault()
    {
        foreach (ErrorCode code in Enum.GetValues<ErrorCode>().Except([ErrorCode.None]))
        {
            int status = ProblemStatus.Of(code);
            Assert.InRange(status, 400, 599);
            bool isOwnFault = code is ErrorCode.InternalError or ErrorCode.DamagedData or ErrorCode.UnsupportedCodec
                or ErrorCode.Cancelled or ErrorCode.HelloRequired;
            Assert.Equal(isOwnFault, status == 500);
            if (ErrorCodes.IsRetriable(code))
                Assert.Contains(status, (int[])[409, 429, 503, 504, 507]);
        }
    }

    private static async Task SendAsync(AdminServer server, int count)
    {
        await server.AskAsync("POST", Topics, """{"topic":"t","settings":{"queueCount":1}}""", HttpStatusCode.Created);
        string messages = string.Join(',', Enumerable.Repeat("""{"body":"x"}""", count));
        await server.AskAsync("POST", $"{Topics}/t/messages", $$"""{"messages":[{{messages}}]}""");
    }
}
