using System.Text.Json.Nodes;

namespace EQueue.Server.Tests.Http;

/// <summary>A request of a route and the rights that it needs.</summary>
/// <param name="Route">As it is served: the method and the pattern.</param>
/// <param name="Path">What is asked.</param>
/// <param name="Body">With it; null = none.</param>
/// <param name="Needs">The rights, each of them; none = who is admitted may.</param>
internal sealed record RouteCase(string Route, string Path, string? Body, params AccessRule[] Needs)
{
    public string Method => Route[..Route.IndexOf(' ', StringComparison.Ordinal)];

    /// <summary>Whether it answers those who are not admitted, too.</summary>
    public bool IsProbe { get; init; }

    /// <summary>Of a list, which is not refused but leaves out: whether it left out all; null = no list.</summary>
    public Func<JsonNode, bool>? IsLeftOut { get; init; }

    public override string ToString() => $"{Method} {Path} ({string.Join(", ", (object[])Needs)})";
}

/// <summary>A case or more for each route, about the topic "orders" and the group "billing".</summary>
internal static class RouteCases
{
    public const string User = "worker";
    private const string Topics = "/api/v1/topics";
    private const string OneTopic = Topics + "/{topic}";
    private const string Messages = OneTopic + "/messages";
    private const string QueueMessages = OneTopic + "/queues/{queue}/messages";
    private const string Groups = "/api/v1/groups";
    private const string OneMessage = """{"messages":[{"body":"b","key":"k"}]}""";

    /// <summary>Every right about a name.</summary>
    public static IEnumerable<AccessRule> RightsAbout(string name) =>
        from permission in Enum.GetValues<Permission>()
        where permission != Permission.All
        from resource in Enum.GetValues<ResourceKind>()
        select Right(permission, resource, resource == ResourceKind.Broker ? "" : name);

    /// <summary>Whether a right serves a need: it is the one, or includes to see what is to be seen.</summary>
    public static bool Serves(AccessRule right, AccessRule need) =>
        right == need
        || (need.Permission == Permission.Describe && right.Resource == need.Resource && right.Name == need.Name);

    public static IReadOnlyList<RouteCase> All { get; } =
    [
        new("GET /health/live", "/health/live", null) { IsProbe = true },
        new("GET /health/ready", "/health/ready", null) { IsProbe = true },
        new("GET /", "/", null),
        new("GET /api/v1/openapi.json", "/api/v1/openapi.json", null),
        new("GET /api/v1/broker", "/api/v1/broker", null),
        new("GET /stats", "/stats", null, Broker(Permission.Describe)),
        new("GET /metrics", "/metrics", null, Broker(Permission.Describe)),
        new("GET /api/v1/stats", "/api/v1/stats", null, Broker(Permission.Describe)),
        new("GET /api/v1/live", "/api/v1/live", null, Broker(Permission.Describe)),
        new($"GET {Topics}", Topics, null, Topic(Permission.Describe)) { IsLeftOut = static x => IsEmpty(x["topics"]) },
        new($"POST {Topics}", Topics, """{"topic":"new"}""", Topic(Permission.Create, "new")),
        new($"GET {OneTopic}", $"{Topics}/orders", null, Topic(Permission.Describe)),
        new($"PATCH {OneTopic}", $"{Topics}/orders", """{"retentionMs":60000}""", Topic(Permission.Alter)),
        new($"PATCH {OneTopic}/queues", $"{Topics}/orders/queues", """{"readable":true}""", Topic(Permission.Alter)),
        new($"DELETE {OneTopic}", $"{Topics}/old", null, Topic(Permission.Delete, "old")),
        new($"GET {OneTopic}/offsets", $"{Topics}/orders/offsets?time=end", null, Topic(Permission.Describe)),
        new($"POST {Messages}", $"{Topics}/orders/messages", OneMessage, Topic(Permission.Write)),
        new(
            $"POST {Messages}", $"{Topics}/made/messages", OneMessage,
            Topic(Permission.Create, "made"), Topic(Permission.Write, "made")),
        new($"GET {QueueMessages}", $"{Topics}/orders/queues/0/messages", null, Topic(Permission.Read)),
        new($"GET {QueueMessages}", $"{Topics}/orders/queues/0/messages?waitMs=1", null, Topic(Permission.Read)),
        new($"GET {QueueMessages}/{{offset}}", $"{Topics}/orders/queues/0/messages/0", null, Topic(Permission.Read)),
        new(
            $"GET {QueueMessages}/{{offset}}/explain", $"{Topics}/orders/queues/0/messages/0/explain?group=billing", null,
            Topic(Permission.Read), Group(Permission.Describe)),
        new($"GET {Messages}/latest", $"{Topics}/orders/messages/latest", null, Topic(Permission.Read)),
        new($"GET {Messages}/by-key", $"{Topics}/orders/messages/by-key?key=k", null, Topic(Permission.Read)),
        new($"GET {Groups}", Groups, null, Group(Permission.Describe)) { IsLeftOut = static x => IsEmpty(x["groups"]) },
        new($"GET {Groups}/{{group}}", $"{Groups}/billing?ages=true", null, Group(Permission.Describe)),
        new(
            $"POST {Groups}/{{group}}/reset", $"{Groups}/billing/reset", """{"to":"end","topic":"orders"}""",
            Group(Permission.Alter)),
        new($"DELETE {Groups}/{{group}}", $"{Groups}/leftover", null, Group(Permission.Delete, "leftover")),
        new("GET /api/v1/quotas", "/api/v1/quotas", null, Broker(Permission.Describe)),
        new(
            "PUT /api/v1/quotas", "/api/v1/quotas", """{"kind":"client","name":"c","produceBytesPerSecond":5}""",
            Broker(Permission.Administer)),
        new("DELETE /api/v1/quotas", "/api/v1/quotas?kind=client&name=d", null, Broker(Permission.Administer)),
    ];

    private static AccessRule Topic(Permission permission, string name = "orders") =>
        Right(permission, ResourceKind.Topic, name);

    private static AccessRule Group(Permission permission, string name = "billing") =>
        Right(permission, ResourceKind.Group, name);

    private static AccessRule Broker(Permission permission) => Right(permission, ResourceKind.Broker, "");

    private static AccessRule Right(Permission permission, ResourceKind resource, string name) =>
        new(RuleEffect.Allow, $"user:{User}", permission, resource, name);

    private static bool IsEmpty(JsonNode? list) => list!.AsArray().Count == 0;
}
