using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>The routes of consumer groups.</summary>
internal static class GroupRoutes
{
    private const string Groups = "/api/v1/groups";
    private const string OneGroup = $"{Groups}/{{group}}";

    private static readonly ApiParameter Topic = ApiParameter.Text("topic", "Only this topic's queues");

    private static readonly ApiParameter[] Describing =
    [
        Topic,
        ApiParameter.Flag("ages", "Whether the lag is wanted in time too: a look into the index for each queue"),
    ];

    public static IReadOnlyList<ApiRoute> All { get; } =
    [
        ApiRoute.Of("GET", Groups, "listGroups", "Names the groups", ListAsync) with { Query = TopicRoutes.Paging },
        ApiRoute.Of("GET", OneGroup, "describeGroup", "Tells a group's members, queues and lag", DescribeAsync) with
        {
            Query = Describing,
        },
        ApiRoute.Of<ResetBody, ResetResultBody>(
            "POST", $"{OneGroup}/reset", "resetGroup", "Sets where a group without members continues", ResetAsync),
        ApiRoute.OfDone(
            "DELETE", OneGroup, "deleteGroup", "Removes a group without members, or its progress in a topic",
            DeleteAsync) with
        {
            Query = [Topic],
        },
    ];

    private static async Task<GroupPage> ListAsync(ApiCall call)
    {
        ListGroupsResponse page = await call.InvokeAsync(
            new ListGroupsRequest(call.Query("after"), (int)call.QueryNumber("limit")!));
        return new GroupPage(
            [
                .. page.Groups.Select(GroupSummary.Of),
            ],
            page.HasMore);
    }

    private static async Task<GroupBody> DescribeAsync(ApiCall call) => new GroupBody(
        call.Group,
        await call.InvokeAsync(new DescribeGroupRequest(call.Group, call.Query("topic"), call.QueryFlag("ages"))));

    private static async Task<ResetResultBody> ResetAsync(ApiCall call, ResetBody body)
    {
        ResetOffsetsResponse response = await call.InvokeAsync(new ResetOffsetsRequest
        {
            Group = call.Group,
            InstanceId = body.InstanceId,
            Topic = body.Topic,
            Numbers = body.Queues,
            To = (ResetTarget)body.To,
            Value = ValueOf(body),
            IsPreview = body.Preview,
        });
        return new ResetResultBody(
            body.Preview,
            [
                .. response.Queues.Select(static queue => new ResetQueueBody(queue)),
            ]);
    }

    /// <summary>What goes with the place; what does not go with it must not be there.</summary>
    private static long ValueOf(ResetBody body)
    {
        bool wantsValue = body.To is ResetPlace.Offset or ResetPlace.ShiftBy;
        if (body.Value.HasValue != wantsValue)
        {
            throw ApiException.OfValue(
                "value",
                body.Value?.ToString(),
                wantsValue ? "a whole number" : "nothing unless to is offset or shiftBy");
        }

        if (body.Time.HasValue != (body.To == ResetPlace.Time))
        {
            throw ApiException.OfValue(
                "time",
                body.Time?.ToString("O"),
                body.To == ResetPlace.Time ? ApiTime.Allowed : "nothing unless to is time");
        }

        return body.Value ?? body.Time?.ToUnixTimeMilliseconds() ?? 0;
    }

    private static Task DeleteAsync(ApiCall call) =>
        call.InvokeAsync(new DeleteGroupRequest(call.Group, call.Query("topic")));
}
