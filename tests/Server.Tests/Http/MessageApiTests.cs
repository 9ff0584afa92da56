using System.Net;
using System.Text.Json.Nodes;
using EQueue.Protocol;
using EQueue.Support;
using EQueue.Support.Stores;

namespace EQueue.Server.Tests.Http;

/// <summary>Sending and reading over HTTP, by people without a client.</summary>
public sealed class MessageApiTests
{
    private const string Messages = "/api/v1/topics/t/messages";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenMessagesOfAllKinds_WhenSentAndRead_ThenNothingOfThemIsLost()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 1);
        JsonObject sent = await server.AskAsync("POST", Messages, """
            {"messages":[
              {"body":"grüße","key":"k","tag":"x","properties":[{"name":"a","value":"1"},{"name":"a"},{"name":"b","valueBase64":"/w=="}]},
              {"bodyBase64":"/wD+","keyBase64":"gA=="},
              {"body":""},
              {}],
             "durability":"durable"}
            """);
        Assert.Equal([0, 1, 2, 3], sent["receipts"]!.AsArray().Select(receipt => (int)receipt!["offset"]!));
        Assert.All(sent["receipts"]!.AsArray(), receipt => Assert.Equal("durable", (string?)receipt!["durability"]));

        JsonArray read = (await server.AskAsync("GET", QueueOf(0)))["messages"]!.AsArray();
        Assert.Equal("grüße", (string?)read[0]!["body"]);
        Assert.Equal("k", (string?)read[0]!["key"]);
        Assert.Equal("x", (string?)read[0]!["tag"]);
        Assert.Equal(
            """[{"name":"a","nameBase64":null,"value":"1","valueBase64":null},{"name":"a","nameBase64":null,"value":null,"valueBase64":null},{"name":"b","nameBase64":null,"value":null,"valueBase64":"/w=="}]""",
            read[0]!["properties"]!.ToJsonString());
        Assert.Equal(("/wD+", null), ((string?)read[1]!["bodyBase64"], (string?)read[1]!["body"]));
        Assert.Equal("gA==", (string?)read[1]!["keyBase64"]);
        Assert.Equal(("", null), ((string?)read[2]!["body"], (string?)read[2]!["bodyBase64"]));
        Assert.Equal((null, null), ((string?)read[3]!["body"], (string?)read[3]!["bodyBase64"]));

        JsonObject page = await server.AskAsync("GET", QueueOf(0) + "?encoding=base64&limit=1");
        Assert.Equal("Z3LDvMOfZQ==", (string?)page["messages"]![0]!["bodyBase64"]);
        Assert.Equal((1, 0, 4), ((int)page["nextOffset"]!, (int)page["start"]!, (int)page["end"]!));
    }

    [Theory]
    [InlineData("AAAAAAAAAAAAAA==", null)]
    [InlineData("AAECAw==", "\0\u0001\u0002\u0003")]
    [InlineData("bGluZQ0KCXR3byBsaW5lcw0KCRtbMW0=", "line\r\n\ttwo lines\r\n\t\u001b[1m")]
    public async Task GivenControlCharacters_WhenRead_ThenLongBytesThatAreMostlySuchAreNoText(string base64, string? text)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 1);
        await server.AskAsync("POST", Messages, $$"""{"messages":[{"bodyBase64":"{{base64}}"}]}""");
        JsonNode read = (await server.AskAsync("GET", QueueOf(0)))["messages"]![0]!;
        Assert.Equal((text, text is null ? base64 : null), ((string?)read["body"], (string?)read["bodyBase64"]));
    }

    [Fact]
    public async Task GivenBatchesThatCannotBeRead_WhenAPageIsAsked_ThenTheOthersAreOnItAndThoseAreNamed()
    {
        using var directory = new TempDirectory();
        (string, string)[] settings =
        [
            ("Store:Memory", "false"), ("Server:DataDirectory", directory["data"]), ("Store:FlushPolicy", "async"),
            ("Store:SegmentSizeBytes", "16777216"),
        ];
        await using (AdminServer server = await AdminServer.StartAsync(settings: settings))
            await CreateAsync(server, queues: 1);
        var store = new MessageStore.StoreOptions
        {
            DataDirectory = directory["data"],
            FlushPolicy = MessageStore.FlushPolicy.Async,
            SegmentSizeBytes = 16 << 20,
            ReserveBytes = 0,
        };
        await BelowTheBroker.AppendAsync(
            store,
            BrokenBatches.Unreadable.Values.SelectMany(batch => new[] { BrokenBatches.Good("good"), batch })
                .Append(BrokenBatches.Good("last")).Select(batch => (new QueueId(1), TagBits.Unknown, batch)),
            Token);

        await using AdminServer again = await AdminServer.StartAsync(settings: settings);
        JsonObject page = await again.AskAsync("GET", QueueOf(0) + "?limit=100&from=0");

        Assert.Equal(BrokenBatches.Unreadable.Count + 1, page["messages"]!.AsArray().Count);
        JsonArray unreadable = page["unreadable"]!.AsArray();
        Assert.Equal(BrokenBatches.Unreadable.Count, unreadable.Count);
        Assert.All(unreadable, range => Assert.True((long)range!["to"]! > (long)range["from"]!));
        Assert.Equal((long)page["end"]!, (long)page["nextOffset"]!);
        await again.AskAsync("GET", QueueOf(0) + "/1", status: HttpStatusCode.InternalServerError);
        JsonObject latest = await again.AskAsync("GET", "/api/v1/topics/t/messages/latest?count=3");
        Assert.Equal("last", (string?)latest["messages"]!.AsArray()[^1]!["body"]);
    }

    [Fact]
    public async Task GivenKeys_WhenSent_ThenEachGoesToTheQueueThatEveryClientComputes()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 5);
        string[] keys = [.. Enumerable.Range(0, 40).Select(number => $"key-{number}")];
        JsonObject sent = await server.AskAsync(
            "POST", Messages, $$"""{"messages":[{{string.Join(',', keys.Select(key => $$"""{"key":"{{key}}"}"""))}}]}""");
        Assert.Equal(
            keys.Select(key => Murmur2.QueueOf(global::System.Text.Encoding.UTF8.GetBytes(key), 5)),
            sent["receipts"]!.AsArray().Select(receipt => (int)receipt!["queue"]!));
        foreach (string key in keys)
        {
            JsonObject found = await server.AskAsync("GET", $"{Messages}/by-key?key={key}");
            Assert.Equal(key, (string?)Assert.Single(found["messages"]!.AsArray())!["key"]);
            Assert.True((bool)found["isComplete"]!);
        }
    }

    [Fact]
    public async Task GivenMessagesWithoutKeys_WhenSentAgainAndAgain_ThenTheyGoRoundTheWritableQueues()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 3);
        await server.AskAsync("PATCH", "/api/v1/topics/t/queues", """{"queues":[1],"writable":false}""");
        var queues = new HashSet<int>();
        for (int i = 0; i < 6; i++)
        {
            JsonArray receipts = (await server.AskAsync("POST", Messages, """{"messages":[{"body":"a"},{"body":"b"}]}"""))
                ["receipts"]!.AsArray();
            Assert.Single(receipts.Select(receipt => (int)receipt!["queue"]!).Distinct());
            queues.Add((int)receipts[0]!["queue"]!);
        }

        Assert.Equal([0, 2], queues.Order());
    }

    [Fact]
    public async Task GivenAQueueThatTakesNothing_WhenSomeMessagesAreForIt_ThenOnlyTheirReceiptsSayWhy()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 2);
        await server.AskAsync("PATCH", "/api/v1/topics/t/queues", """{"queues":[1],"writable":false}""");
        (string open, string closed) = (KeyOf(0), KeyOf(1));
        JsonArray receipts = (await server.AskAsync(
            "POST", Messages, $$"""{"messages":[{"key":"{{closed}}"},{"key":"{{open}}"}]}""", HttpStatusCode.MultiStatus))
            ["receipts"]!.AsArray();
        Assert.Equal("QueueNotWritable", (string?)receipts[0]!["error"]!["code"]);
        Assert.Null(receipts[0]!["offset"]);
        Assert.Equal(0, (int)receipts[1]!["offset"]!);

        JsonObject refused = await server.AskAsync(
            "POST", Messages, $$"""{"messages":[{"key":"{{closed}}"}]}""", HttpStatusCode.Conflict);
        Assert.Equal(("QueueNotWritable", true), ((string?)refused["code"], (bool)refused["retriable"]!));
    }

    [Fact]
    public async Task GivenMoreThanABatchHolds_WhenSent_ThenAllAreStoredInOrder()
    {
        await using AdminServer server = await AdminServer.StartAsync(settings: ("Limits:MaxMessageBytes", "1048576"));
        await CreateAsync(server, queues: 1);
        string body = new('x', 900_000);
        string messages = string.Join(',', Enumerable.Range(0, 8).Select(i => $$"""{"body":"{{body}}","tag":"{{i}}"}"""));
        JsonObject sent = await server.AskAsync("POST", Messages, $$"""{"messages":[{{messages}}]}""");
        Assert.Equal(Enumerable.Range(0, 8), sent["receipts"]!.AsArray().Select(receipt => (int)receipt!["offset"]!));
        int next = 0;
        List<string?> tags = [];
        while (next < 8)
        {
            JsonObject page = await server.AskAsync("GET", $"{QueueOf(0)}?from={next}");
            tags.AddRange(page["messages"]!.AsArray().Select(message => (string?)message!["tag"]));
            Assert.True((int)page["nextOffset"]! > next);
            next = (int)page["nextOffset"]!;
        }

        Assert.Equal(Enumerable.Range(0, 8).Select(i => $"{i}"), tags);
    }

    [Fact]
    public async Task GivenAReadThatWaits_WhenAMessageComes_ThenItIsAnsweredWithIt()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 1);
        Task<JsonObject> reading = server.AskAsync("GET", QueueOf(0) + "?from=end&waitMs=30000");
        await Support.Eventually.TrueAsync(async () =>
            (await server.AskAsync("GET", "/stats"))["broker.parkedFetches"]!.GetValue<long>() == 1);
        Assert.False(reading.IsCompleted);
        await server.AskAsync("POST", Messages, """{"messages":[{"body":"came"}]}""");
        Assert.Equal("came", (string?)(await reading)["messages"]![0]!["body"]);

        JsonObject empty = await server.AskAsync("GET", QueueOf(0) + "?from=end&waitMs=1");
        Assert.Empty(empty["messages"]!.AsArray());
        Assert.Equal((1, 1), ((int)empty["nextOffset"]!, (int)empty["end"]!));
    }

    [Fact]
    public async Task GivenAReaderThatGivesUp_WhenItIsGone_ThenTheBrokerWaitsForNobody()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 1);
        using var gone = CancellationTokenSource.CreateLinkedTokenSource(Token);
        Task reading = server.Http.GetAsync(QueueOf(0) + "?from=end&waitMs=30000", gone.Token);
        await Support.Eventually.TrueAsync(async () =>
            (await server.AskAsync("GET", "/stats"))["broker.parkedFetches"]!.GetValue<long>() == 1);
        await gone.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => reading);
        await Support.Eventually.TrueAsync(async () =>
            (await server.AskAsync("GET", "/stats"))["broker.parkedFetches"]!.GetValue<long>() == 0);
    }

    [Fact]
    public async Task GivenAMessageOfAGroup_WhenExplained_ThenTheReasonIsToldWithItsFacts()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 1);
        await server.AskAsync("POST", Messages, """{"messages":[{"body":"a","tag":"x"}]}""");
        await server.AskAsync("POST", "/api/v1/groups/billing/reset", """{"to":"end","topic":"t"}""");
        await server.AskAsync("POST", Messages, """{"messages":[{"body":"b"}]}""");
        JsonNode told = await ExplainAsync("0/explain?group=billing");
        Assert.Equal(
            ("committed", "x", 1L), ((string?)told["standing"], (string?)told["tag"], (long?)told["committed"]));
        told = await ExplainAsync("1/explain?group=billing");
        Assert.Equal("noMembers", (string?)told["standing"]);
        Assert.Contains("billing has no members", told["sentences"]!.ToJsonString(), StringComparison.Ordinal);
        Assert.Equal("notStored", (string?)(await ExplainAsync("7/explain?group=billing"))["standing"]);
        JsonObject problem = await server.AskAsync(
            "GET", QueueOf(0) + "/0/explain?group=biling", status: HttpStatusCode.NotFound);
        Assert.Equal(2, ((string)problem["detail"]!).Split("Did you mean 'billing'?").Length);

        async Task<JsonNode> ExplainAsync(string path) =>
            Assert.Single((await server.AskAsync("GET", QueueOf(0) + "/" + path))["explanations"]!.AsArray())!;
    }

    [Fact]
    public async Task GivenTags_WhenReadByOne_ThenOthersArePassedOverAndTheOffsetMoves()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 1);
        foreach (string tag in (string[])["a", "b", "a", "c"])
            await server.AskAsync("POST", Messages, $$"""{"messages":[{"tag":"{{tag}}"}]}""");
        JsonObject page = await server.AskAsync("GET", QueueOf(0) + "?tag=a&limit=1");
        Assert.Equal((0, 1), ((int)page["messages"]![0]!["offset"]!, (int)page["nextOffset"]!));
        page = await server.AskAsync("GET", QueueOf(0) + "?tag=a&from=1");
        Assert.Equal((2, 4), ((int)page["messages"]![0]!["offset"]!, (int)page["nextOffset"]!));
        page = await server.AskAsync("GET", QueueOf(0) + "?tag=none");
        Assert.Empty(page["messages"]!.AsArray());
    }

    [Fact]
    public async Task GivenTimesAndPlaces_WhenLookedUp_ThenTheRightMessagesAreFound()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 2);
        for (int i = 0; i < 6; i++)
        {
            await server.AskAsync("POST", Messages, $$"""{"messages":[{"body":"{{i}}"}],"queue":{{i % 2}}}""");

            // Of messages of one millisecond in different queues none is the later one.
            await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        }

        JsonArray latest = (await server.AskAsync("GET", Messages + "/latest?count=3"))["messages"]!.AsArray();
        Assert.Equal(["3", "4", "5"], latest.Select(message => (string)message!["body"]!).Order(StringComparer.Ordinal));
        latest = (await server.AskAsync("GET", Messages + "/latest?count=2&queue=0"))["messages"]!.AsArray();
        Assert.Equal(["2", "4"], latest.Select(message => (string)message!["body"]!));
        Assert.Equal("5", (string?)(await server.AskAsync("GET", QueueOf(1) + "/2"))["body"]);

        JsonArray offsets = (await server.AskAsync("GET", "/api/v1/topics/t/offsets?time=end"))["queues"]!.AsArray();
        Assert.Equal([3, 3], offsets.Select(queue => (int)queue!["offset"]!));
        offsets = (await server.AskAsync("GET", "/api/v1/topics/t/offsets?time=2001-01-01T00:00:00Z"))["queues"]!.AsArray();
        Assert.Equal([0, 0], offsets.Select(queue => (int)queue!["offset"]!));
        JsonObject page = await server.AskAsync("GET", QueueOf(0) + "?from=2999-01-01");
        Assert.Equal(3, (int)page["nextOffset"]!);
    }

    [Theory]
    [InlineData("""{"messages":[]}""", "messages", 400)]
    [InlineData("""{"messages":[null]}""", "messages[0]", 400)]
    [InlineData("""{"messages":[{"body":"a","bodyBase64":"YQ=="}]}""", "messages[0].body", 400)]
    [InlineData("""{"messages":[{"bodyBase64":"%%"}]}""", "messages[0].bodyBase64", 400)]
    [InlineData("""{"messages":[{"properties":[{"name":"eq-tag"}]}]}""", "messages[0].properties[0].name", 400)]
    [InlineData("""{"messages":[{"properties":[{}]}]}""", "messages[0].properties[0].name", 400)]
    [InlineData("""{"messages":[{"body":"a"}],"queue":9}""", "queue", 400)]
    [InlineData("""{"messages":[{"body":"a"}],"timeoutMs":0}""", "timeoutMs", 400)]
    [InlineData("""{"messages":[{"body":"a"}],"durability":"sometimes"}""", "durability", 400)]
    [InlineData("""{"messages":[{"body":"a","colour":"red"}]}""", "messages[0].colour", 400)]
    [InlineData("""{}""", "messages", 400)]
    [InlineData("""[]""", "the body", 400)]
    [InlineData("""{"messages":""", "the body", 400)]
    public async Task GivenABodyThatCannotBe_WhenSent_ThenTheProblemNamesWhatValueAndRange(
        string body, string what, int status)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 2);
        JsonObject problem = await server.AskAsync("POST", Messages, body, (HttpStatusCode)status);
        Assert.Equal(what, (string?)problem["what"]);
        Assert.False(string.IsNullOrEmpty((string?)problem["allowed"]), problem.ToJsonString());
        Assert.Equal("InvalidArgument", (string?)problem["code"]);
    }

    [Theory]
    [InlineData("/api/v1/topics/t/queues/2/messages", 404, "UnknownQueue")]
    [InlineData("/api/v1/topics/t/queues/x/messages", 400, "InvalidArgument")]
    [InlineData("/api/v1/topics/none/queues/0/messages", 404, "UnknownTopic")]
    [InlineData("/api/v1/topics/a%20b/queues/0/messages", 400, "InvalidName")]
    [InlineData("/api/v1/topics/t/queues/0/messages?from=7", 416, "OffsetOutOfRange")]
    [InlineData("/api/v1/topics/t/queues/0/messages?from=soon", 400, "InvalidArgument")]
    [InlineData("/api/v1/topics/t/queues/0/messages?waitMs=30001", 400, "InvalidArgument")]
    [InlineData("/api/v1/topics/t/queues/0/messages?limit=1&limit=2", 400, "InvalidArgument")]
    [InlineData("/api/v1/topics/t/queues/0/messages?encoding=hex", 400, "InvalidArgument")]
    [InlineData("/api/v1/topics/t/queues/0/messages/0", 404, "OffsetOutOfRange")]
    [InlineData("/api/v1/topics/t/messages/by-key", 400, "InvalidArgument")]
    [InlineData("/api/v1/topics/t/messages/by-key?keyBase64=%25", 400, "InvalidArgument")]
    public async Task GivenAReadThatCannotBe_WhenAsked_ThenTheStatusAndTheCodeSayWhy(string path, int status, string code)
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await CreateAsync(server, queues: 2);
        JsonObject problem = await server.AskAsync("GET", path, status: (HttpStatusCode)status);
        Assert.Equal(code, (string?)problem["code"]);
    }

    [Fact]
    public async Task GivenATopicAtItsBound_WhenMoreIsSent_ThenItIsRefusedAsTooMuch()
    {
        await using AdminServer server = await AdminServer.StartAsync();
        await server.AskAsync(
            "POST", "/api/v1/topics",
            """{"topic":"t","settings":{"queueCount":1,"maxBacklogMessages":1,"backlogPolicy":"reject","backlogGroups":["g"]}}""",
            HttpStatusCode.Created);
        await server.AskAsync("POST", Messages, """{"messages":[{"body":"fits"}]}""");
        using HttpResponseMessage refused = await server.SendAsync("POST", Messages, """{"messages":[{"body":"not"}]}""");
        Assert.Equal(HttpStatusCode.TooManyRequests, refused.StatusCode);
        Assert.NotNull(refused.Headers.RetryAfter);
        JsonNode problem = JsonNode.Parse(await refused.Content.ReadAsStringAsync(Token))!;
        Assert.Equal(("QueueFull", true), ((string?)problem["code"], (bool)problem["retriable"]!));
    }

    [Fact]
    public async Task GivenABodyAboveTheLimitOfATopic_WhenSent_ThenItIsTooLarge()
    {
        await using AdminServer server = await AdminServer.StartAsync(settings: ("Limits:MaxMessageBytes", "65536"));
        await CreateAsync(server, queues: 1);
        JsonObject problem = await server.AskAsync(
            "POST", Messages, $$"""{"messages":[{"body":"{{new string('x', 65_537)}}"}]}""",
            HttpStatusCode.RequestEntityTooLarge);
        Assert.Equal("MessageTooLarge", (string?)problem["code"]);
        Assert.Contains("65537", (string?)problem["detail"], StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("true", true, 200)]
    [InlineData("true", false, 404)]
    [InlineData("false", true, 404)]
    public async Task GivenATopicThatDoesNotExist_WhenSentTo_ThenItIsMadeIfBothWantThat(
        string autoCreate, bool createTopic, int status)
    {
        await using AdminServer server = await AdminServer.StartAsync(settings: ("Topics:AutoCreate", autoCreate));
        await server.AskAsync(
            "POST", Messages, $$"""{"messages":[{"body":"a"}],"createTopic":{{(createTopic ? "true" : "false")}}}""",
            (HttpStatusCode)status);
    }

    private static string QueueOf(int queue) => $"/api/v1/topics/t/queues/{queue}/messages";

    private static string KeyOf(int queue) => Enumerable.Range(0, 1_000).Select(number => $"k{number}")
        .First(key => Murmur2.QueueOf(global::System.Text.Encoding.UTF8.GetBytes(key), 2) == queue);

    private static Task<JsonObject> CreateAsync(AdminServer server, int queues) => server.AskAsync(
        "POST", "/api/v1/topics", $$"""{"topic":"t","settings":{"queueCount":{{queues}} } }""", HttpStatusCode.Created);
}
