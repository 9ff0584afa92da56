using System.Text.Json;
using EQueue.Server.Http;
using EQueue.Server.Telemetry;

namespace EQueue.Server.Hosting;

/// <summary>The pages beside the API: whether the process lives, whether it serves, its figures and metrics.</summary>
/// <remarks>Never refused for a limit. One metrics page is written at a time; others wait without a thread.</remarks>
internal sealed class AdminPages(BrokerService broker, MetricsPage metrics) : IDisposable
{
    private readonly SemaphoreSlim _metricsTurn = new(1);

    public IEnumerable<ApiRoute> All =>
    [
        Page("/health/live", "readLive", "200 while the process runs", "text/plain", AnswerLiveAsync),
        Page("/health/ready", "readReady", "200 while the broker serves, else 503", "text/plain", AnswerReadyAsync),
        Page("/stats", "readFigures", "The broker's figures, by name", "application/json", AnswerStatsAsync) with
        {
            ResponseType = typeof(IReadOnlyDictionary<string, long>),
        },
        Page("/metrics", "readMetrics", "Metrics in Prometheus' text format", "text/plain", AnswerMetricsAsync),
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

    private Task AnswerReadyAsync(ApiCall call) => broker.Serving is null
        ? AnswerAsync(call.Http, StatusCodes.Status503ServiceUnavailable, "not ready")
        : AnswerAsync(call.Http, StatusCodes.Status200OK, "ready");

    private Task AnswerStatsAsync(ApiCall call)
    {
        if (broker.Serving is not { } serving)
            return AnswerAsync(call.Http, StatusCodes.Status503ServiceUnavailable, "not ready");
        byte[] body = WriteFigures(serving.CollectStats().Figures);
        call.Http.Response.ContentType = "application/json";
        return call.WriteAsync(body);
    }

    private async Task AnswerMetricsAsync(ApiCall call)
    {
        byte[] page;
        await _metricsTurn.WaitAsync(call.Http.RequestAborted);
        try
        {
            page = metrics.Write();
        }
        finally
        {
            _metricsTurn.Release();
        }

        call.Http.Response.ContentType = PrometheusWriter.ContentType;
        await call.WriteAsync(page);
    }

    private static byte[] WriteFigures(IReadOnlyList<Protocol.StatsFigure> figures)
    {
        var bytes = new System.Buffers.ArrayBufferWriter<byte>();
        using (var writer = new Utf8JsonWriter(bytes, new JsonWriterOptions { Indented = true }))
        {
            writer.WriteStartObject();
            foreach (Protocol.StatsFigure figure in figures) writer.WriteNumber(figure.Name, figure.Value);
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
