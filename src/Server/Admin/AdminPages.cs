using System.Net;
using System.Text;
using System.Text.Json;
using EQueue.Broker;
using EQueue.Protocol;
using EQueue.Server.Engine;
using EQueue.Server.Http;
using EQueue.Server.Telemetry;

namespace EQueue.Server.Admin;

/// <summary>The pages beside the API: whether the process lives, whether it serves, its figures and metrics.</summary>
/// <remarks>Never refused for a limit. One metrics page is written at a time; others wait without a thread.</remarks>
internal sealed class AdminPages(BrokerService broker, MetricsPage metrics) : IDisposable
{
    private static readonly (string Path, string What)[] Links =
    [
        ("/health/live", "whether the process runs"),
        ("/health/ready", "whether the broker takes messages"),
        ("/stats", "its figures, as JSON"),
        ("/metrics", "metrics for Prometheus"),
        ("/api/v1/openapi.json", "the HTTP API for topics, messages, groups and quotas, described"),
        ("/api/v1/broker", "the broker's version and limits"),
        ("/api/v1/topics", "its topics"),
        ("/api/v1/groups", "its groups"),
    ];

    private readonly SemaphoreSlim _metricsTurn = new(1);

    public IEnumerable<ApiRoute> All =>
    [
        Page("/", "readIndex", "What there is here", "text/html", AnswerIndexAsync),
        Page("/health/live", "readLive", "200 while the process runs", "text/plain", AnswerLiveAsync) with
        {
            IsProbe = true,
        },
        Page(
            "/health/ready", "readReady", "200 while the broker takes messages, else 503", "text/plain",
            AnswerReadyAsync) with
        {
            IsProbe = true,
        },
        Page("/stats", "readFigures", "The broker's figures, by name", "application/json", AnswerStatsAsync) with
        {
            ResponseType = typeof(IReadOnlyDictionary<string, long>),
            TellsFigures = true,
        },
        Page("/metrics", "readMetrics", "Metrics in Prometheus' text format", "text/plain", AnswerMetricsAsync) with
        {
            TellsFigures = true,
        },
    ];

    public void Dispose() => _metricsTurn.Dispose();

    private static ApiRoute Page(
        string path, string name, string summary, string contentType, Func<ApiCall, Task> answer) => new()
        {
            Method = "GET",
            Pattern = path,
            Name = name,
            Summary = summary,
            ContentType = contentType,
            IsPage = true,
            Run = answer,
        };

    private static Task AnswerLiveAsync(ApiCall call) =>
        AnswerAsync(call.Http, StatusCodes.Status200OK, "live");

    private Task AnswerReadyAsync(ApiCall call)
    {
        string? hindrance = broker.Serving switch
        {
            null when broker.IsReady => null,
            null => "not ready",
            { StalledFor: var stalled } when stalled > TimeSpan.Zero =>
                $"not ready: the disk has not finished a write for {stalled.TotalSeconds:F0} s",
            { IsReadOnly: true } => "not ready: the disk is full, no messages are taken",
            _ => null,
        };
        return hindrance is null
            ? AnswerAsync(call.Http, StatusCodes.Status200OK, DescribeReady(broker.Serving))
            : AnswerAsync(call.Http, StatusCodes.Status503ServiceUnavailable, hindrance);
    }

    private static string DescribeReady(EQueueBroker? serving) => serving is { LostSegments: > 0 and var lost }
        ? $"ready, degraded: {lost} segments of the log are lost"
        : "ready";

    private async Task AnswerIndexAsync(ApiCall call)
    {
        var page = new StringBuilder(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>EQueue</title></head><body>\n"
            + $"<h1>EQueue {WebUtility.HtmlEncode(ServerVersion.Text)}</h1>\n<ul>\n");
        foreach ((string path, string what) in Links)
            page.Append($"<li><a href=\"{path}\">{path}</a>: {what}</li>\n");
        page.Append("</ul>\n</body></html>\n");
        call.Http.Response.ContentType = "text/html; charset=utf-8";
        await call.WriteAsync(Encoding.UTF8.GetBytes(page.ToString()));
    }

    private Task AnswerStatsAsync(ApiCall call)
    {
        if (broker.Serving is not { } serving)
            return AnswerAsync(call.Http, StatusCodes.Status503ServiceUnavailable, "not ready");
        StatsResponse stats = call.Asker.Admission is { } asker ? serving.CollectStats(asker) : serving.CollectStats();
        byte[] body = WriteFigures(stats.Figures);
        call.Http.Response.ContentType = "application/json";
        return call.WriteAsync(body);
    }

    private async Task AnswerMetricsAsync(ApiCall call)
    {
        byte[] page;
        await _metricsTurn.WaitAsync(call.Http.RequestAborted);
        try
        {
            page = metrics.Write(subject => MaySee(call.Asker, subject));
        }
        finally
        {
            _metricsTurn.Release();
        }

        call.Http.Response.ContentType = PrometheusWriter.ContentType;
        await call.WriteAsync(page);
    }

    private static bool MaySee(HttpAsker asker, SeriesSubject subject) =>
        (subject.Topic is not { } topic || asker.MaySee(ResourceKind.Topic, topic))
        && (subject.Group is not { } group || asker.MaySee(ResourceKind.Group, group));

    private static byte[] WriteFigures(IReadOnlyList<StatsFigure> figures)
    {
        var bytes = new System.Buffers.ArrayBufferWriter<byte>();
        using (var writer = new Utf8JsonWriter(bytes, new JsonWriterOptions { Indented = true }))
        {
            writer.WriteStartObject();
            foreach (StatsFigure figure in figures)
                writer.WriteNumber(figure.Name, figure.Value);
            writer.WriteEndObject();
        }

        return bytes.WrittenSpan.ToArray();
    }

    private static Task AnswerAsync(HttpContext context, int status, string text)
    {
        context.Response.StatusCode = status;
        context.Response.ContentType = "text/plain";
        return context.Response.WriteAsync(text + "\n", context.RequestAborted);
    }
}
