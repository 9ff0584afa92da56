using System.Text;

namespace EQueue.System.Tests.Bounds;

/// <summary>For each route of the admin port, by method and pattern: the path and the body with the most of
/// both.</summary>
internal static class BoundRoutes
{
    private static readonly string Large = $"{{\"messages\":[{{\"body\":\"{new string('x', 3_500_000)}\"}}]}}";

    public static IReadOnlyDictionary<string, (string Path, string? Body)> All { get; } =
        new Dictionary<string, (string, string?)>
        {
            ["GET /"] = ("/", null),
            ["GET /health/live"] = ("/health/live", null),
            ["GET /health/ready"] = ("/health/ready", null),
            ["GET /stats"] = ("/stats", null),
            ["GET /metrics"] = ("/metrics", null),
            ["GET /api/v1/openapi.json"] = ("/api/v1/openapi.json", null),
            ["GET /api/v1/broker"] = ("/api/v1/broker", null),
            ["GET /api/v1/stats"] = ("/api/v1/stats", null),
            ["GET /api/v1/live"] = ("/api/v1/live", null),
            ["GET /api/v1/quotas"] = ("/api/v1/quotas", null),
            ["PUT /api/v1/quotas"] = (
                "/api/v1/quotas", "{\"kind\":\"client\",\"name\":\"h\",\"produceBytesPerSecond\":1000000000}"),
            ["DELETE /api/v1/quotas"] = ("/api/v1/quotas?kind=client&name=h", null),
            ["GET /api/v1/groups"] = ("/api/v1/groups?limit=1000", null),
            ["GET /api/v1/groups/{group}"] = ($"/api/v1/groups/{BoundPlant.Group}", null),
            ["POST /api/v1/groups/{group}/reset"] = (
                "/api/v1/groups/http/reset", $"{{\"topic\":\"{BoundPlant.Wide}\",\"to\":\"end\"}}"),
            ["DELETE /api/v1/groups/{group}"] = ("/api/v1/groups/http", null),
            ["GET /api/v1/topics"] = ("/api/v1/topics?limit=1000", null),
            ["POST /api/v1/topics"] = ("/api/v1/topics", "{\"topic\":\"http\",\"settings\":{\"queueCount\":1000}}"),
            ["GET /api/v1/topics/{topic}"] = ($"/api/v1/topics/{BoundPlant.Wide}", null),
            ["PATCH /api/v1/topics/{topic}"] = (
                $"/api/v1/topics/{BoundPlant.Wide}", $"{{\"queueCount\":{BoundPlant.WideQueues}}}"),
            ["DELETE /api/v1/topics/{topic}"] = ("/api/v1/topics/http", null),
            ["PATCH /api/v1/topics/{topic}/queues"] = (
                $"/api/v1/topics/{BoundPlant.Wide}/queues", "{\"readable\":true}"),
            ["GET /api/v1/topics/{topic}/offsets"] = ($"/api/v1/topics/{BoundPlant.Wide}/offsets", null),
            ["POST /api/v1/topics/{topic}/messages"] = ($"/api/v1/topics/{BoundPlant.Sunk}/messages", Large),
            ["GET /api/v1/topics/{topic}/queues/{queue}/messages"] = (
                $"/api/v1/topics/{BoundPlant.Large}/queues/0/messages?maxBytes=8388608&limit=1000", null),
            ["GET /api/v1/topics/{topic}/queues/{queue}/messages/{offset}"] = (
                $"/api/v1/topics/{BoundPlant.Large}/queues/0/messages/0", null),
            ["GET /api/v1/topics/{topic}/queues/{queue}/messages/{offset}/explain"] = (
                $"/api/v1/topics/{BoundPlant.Large}/queues/0/messages/0/explain?group={BoundPlant.Group}", null),
            ["GET /api/v1/topics/{topic}/messages/latest"] = (
                $"/api/v1/topics/{BoundPlant.Large}/messages/latest?count=100", null),
            ["GET /api/v1/topics/{topic}/messages/by-key"] = (
                $"/api/v1/topics/{BoundPlant.Large}/messages/by-key?key=key&limit=100", null),
        };

    /// <summary>A request whose answer is wanted.</summary>
    public static HttpRequestMessage RequestOf(string route)
    {
        (string path, string? body) = All[route];
        return new HttpRequestMessage(HttpMethod.Parse(route.Split(' ')[0]), path)
        {
            Content = body is null ? null : new StringContent(body, Encoding.ASCII, "application/json"),
        };
    }

    /// <summary>A request of its own connection.</summary>
    public static byte[] Of(string route, string host)
    {
        (string path, string? body) = All[route];
        string method = route.Split(' ')[0];
        string head = $"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            + $"Content-Length: {body?.Length ?? 0}\r\n\r\n{body}";
        return Encoding.ASCII.GetBytes(head);
    }
}
