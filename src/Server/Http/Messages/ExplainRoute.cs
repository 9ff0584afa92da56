using System.ComponentModel;
using EQueue.Protocol;

namespace EQueue.Server.Http;

internal sealed record ExplanationsBody(
    [property: Description("One; of a broadcast group one for each instance")]
    IReadOnlyList<ExplanationBody> Explanations);

/// <summary>Says why a group did or did not consume a message.</summary>
internal sealed class ExplainRoute(TimeProvider time)
{
    public ApiRoute ToRoute() => ApiRoute.Of(
        "GET", "/api/v1/topics/{topic}/queues/{queue}/messages/{offset}/explain", "explainMessage",
        "Tells why a group did or did not consume a message", ExplainAsync) with
    {
        Query = [ApiParameter.Text("group", "The group that should have consumed it") with { IsRequired = true }],
        Memory = static call => ApiRoute.OwnBytes + call.ReadMemory(bytes: 1),
    };

    private async Task<ExplanationsBody> ExplainAsync(ApiCall call)
    {
        string group = call.Query("group") ?? throw ApiException.OfValue("group", null, "required");
        int queue = (int)call.PathNumber("queue", int.MaxValue);
        long offset = call.PathNumber("offset", long.MaxValue);
        // What of it is stored is told to those alone who may read it.
        call.Asker.Check(Opcode.Fetch, Permission.Read, ResourceKind.Topic, call.Topic);
        IReadOnlyList<Explanation> found = await call.AdministerAsync(
            admin => new Explainer(admin, time).ExplainAsync(call.Topic, queue, offset, group, call.Token));
        return new ExplanationsBody([.. found.Select(ExplanationBody.Of)]);
    }
}
