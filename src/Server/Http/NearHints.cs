using EQueue.Protocol;
using EQueue.Server.Configuration;

namespace EQueue.Server.Http;

/// <summary>Says which topics or groups have a name near one that does not exist, of those that the asker may
/// list.</summary>
internal static class NearHints
{
    /// <summary>Names that are looked at: one page.</summary>
    private const int MostNames = 1_000;

    /// <summary>The problem of a failure; with a near name where the path or the query names what is unknown.</summary>
    public static async Task<ApiProblem> ExplainAsync(ApiCall call, EQueueException failure)
    {
        var problem = ApiProblem.Of(failure);
        try
        {
            string hint = failure.Code switch
            {
                ErrorCode.UnknownTopic when call.FindName("topic") is { } topic => NearName.Hint(
                    topic, (await call.InvokeAsync(new ListTopicsRequest(null, MostNames))).Topics
                        .Select(static one => one.Topic)),
                ErrorCode.UnknownGroup when call.FindName("group") is { } group => NearName.Hint(
                    group, (await call.InvokeAsync(new ListGroupsRequest(null, MostNames))).Groups
                        .Select(static one => one.Group)),
                _ => "",
            };
            return problem with { Detail = problem.Detail + hint };
        }
        catch (Exception exception) when (exception is EQueueException or OperationCanceledException)
        {
            // The name is a help; what failed is told without it.
            return problem;
        }
    }
}
