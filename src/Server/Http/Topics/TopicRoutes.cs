using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>The routes of topics and their queues.</summary>
internal static class TopicRoutes
{
    private const string Topics = "/api/v1/topics";
    private const string OneTopic = $"{Topics}/{{topic}}";

    /// <summary>A page's parameters, of topics and of groups.</summary>
    public static readonly ApiParameter[] Paging =
    [
        ApiParameter.Text("after", "Only names after this one"),
        ApiParameter.Number("limit", "Names of the page", 1, 1_000, 1_000),
    ];

    private static readonly ApiParameter[] Time =
        [ApiParameter.Text("time", "begin (unless set), end, or a time: the first message stored then or later")];

    public static IReadOnlyList<ApiRoute> All { get; } =
    [
        ApiRoute.Of("GET", Topics, "listTopics", "Names the topics", ListAsync) with { Query = Paging },
        ApiRoute.Of<CreateTopicBody, TopicBody>("POST", Topics, "createTopic", "Makes a topic", CreateAsync) with
        {
            Status = StatusCodes.Status201Created,
        },
        ApiRoute.Of("GET", OneTopic, "describeTopic", "Tells a topic's settings and queues", DescribeAsync),
        ApiRoute.Of<TopicSettingsBody, TopicBody>(
            "PATCH", OneTopic, "alterTopic", "Changes the settings that are named", AlterAsync),
        ApiRoute.OfDone("DELETE", OneTopic, "deleteTopic", "Removes a topic with its messages", DeleteAsync),
        ApiRoute.Of<AlterQueuesBody, TopicBody>(
            "PATCH", $"{OneTopic}/queues", "alterQueues", "Says which queues may be written and read",
            AlterQueuesAsync),
        ApiRoute.Of("GET", $"{OneTopic}/offsets", "findOffsets", "Finds an offset in each queue", FindOffsetsAsync) with
        {
            Query = Time,
        },
    ];

    /// <summary>Where the queues of the path's topic are.</summary>
    /// <exception cref="EQueueException">UnknownTopic, InvalidName.</exception>
    public static async Task<IReadOnlyList<QueueRoute>> RouteAsync(ApiCall call, bool autoCreate)
    {
        RouteResponse response = await call.InvokeAsync(new RouteRequest([call.Topic], autoCreate));
        TopicRoute route = response.Topics[0];
        if (route.Error == ErrorCode.UnknownTopic)
            throw new EQueueException(route.Error, $"There is no topic '{call.Topic}'.");
        return route.Error == ErrorCode.None
            ? [.. route.Queues.OrderBy(static queue => queue.Number)]
            : throw new EQueueException(route.Error, $"{ErrorCodes.Describe(route.Error)}: '{call.Topic}'.");
    }

    /// <summary>One question's value: begin, end, or a time.</summary>
    public static long ReadQuestion(string name, string? text) => text switch
    {
        null or "begin" => OffsetQuestion.Begin,
        "end" => OffsetQuestion.End,
        _ => ApiTime.TryReadMs(text, out long time)
            ? time : throw ApiException.OfValue(name, text, $"begin, end, or {ApiTime.Allowed}"),
    };

    /// <param name="body">What was asked for.</param>
    /// <param name="at">Where in the request it stands.</param>
    /// <exception cref="ApiException">An age that cannot be.</exception>
    private static TopicSettings Read(TopicSettingsBody body, string at)
    {
        const long Most = long.MaxValue / TimeSpan.TicksPerMillisecond;
        return body.RetentionMs is < 0 or > Most
            ? throw ApiException.OfValue($"{at}retentionMs", $"{body.RetentionMs}", $"0 to {Most}")
            : body.ToSettings();
    }

    private static async Task<TopicPage> ListAsync(ApiCall call)
    {
        ListTopicsResponse page = await call.InvokeAsync(
            new ListTopicsRequest(call.Query("after"), (int)call.QueryNumber("limit")!));
        return new TopicPage(
            [.. page.Topics.Select(TopicSummary.Of)],
            page.HasMore);
    }

    private static async Task<TopicBody> CreateAsync(ApiCall call, CreateTopicBody body)
    {
        TopicSettings settings = body.Settings is { } wanted ? Read(wanted, "settings.") : TopicSettings.None;
        TopicDescription made = await call.InvokeAsync(new CreateTopicRequest(body.Topic, settings));
        call.Http.Response.Headers.Location = $"{Topics}/{made.Topic}";
        return new TopicBody(made);
    }

    private static async Task<TopicBody> DescribeAsync(ApiCall call) =>
        new TopicBody(await call.InvokeAsync(new DescribeTopicRequest(call.Topic)));

    private static async Task<TopicBody> AlterAsync(ApiCall call, TopicSettingsBody body) =>
        new TopicBody(await call.InvokeAsync(new AlterTopicRequest(call.Topic, Read(body, ""))));

    private static Task DeleteAsync(ApiCall call) => call.InvokeAsync(new DeleteTopicRequest(call.Topic));

    private static async Task<TopicBody> AlterQueuesAsync(ApiCall call, AlterQueuesBody body)
    {
        if (body is { Writable: null, Readable: null })
            throw ApiException.OfValue("writable, readable", null, "true or false for at least one");
        QueueState mask = (body.Writable is null ? QueueState.None : QueueState.Writable)
            | (body.Readable is null ? QueueState.None : QueueState.Readable);
        QueueState state = (body.Writable == true ? QueueState.Writable : QueueState.None)
            | (body.Readable == true ? QueueState.Readable : QueueState.None);
        return new TopicBody(await call.InvokeAsync(new AlterQueuesRequest(call.Topic, body.Queues, mask, state)));
    }

    private static async Task<OffsetsBody> FindOffsetsAsync(ApiCall call)
    {
        long question = ReadQuestion("time", call.Query("time"));
        IReadOnlyList<QueueRoute> queues = await RouteAsync(call, autoCreate: false);
        FindOffsetsResponse found = await call.InvokeAsync(new FindOffsetsRequest(
            [.. queues.Select(queue => new OffsetQuestion(new QueueKey(queue.Log, queue.Id), question))]));
        return new OffsetsBody(
        [
            .. queues.Zip(found.Answers, static (queue, answer) => answer.Error == ErrorCode.None
                ? new QueueOffsetBody(queue.Number, answer.Offset.Value, null)
                : new QueueOffsetBody(queue.Number, null, answer.Error.ToString())),
        ]);
    }
}
