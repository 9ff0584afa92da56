using System.Text.Json;
using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>The routes of the broker's figures.</summary>
internal sealed class FigureRoutes(LiveFigures live, TimeProvider time)
{
    private const int UsualIntervalMs = 1_000;

    /// <summary>After so long a stream that takes nothing is cut.</summary>
    private static readonly TimeSpan WritePatience = TimeSpan.FromSeconds(10);

    public IEnumerable<ApiRoute> All =>
    [
        ApiRoute.Of("GET", "/api/v1/broker", "describeBroker", "Tells what the broker is", DescribeAsync),
        ApiRoute.Of("GET", "/api/v1/stats", "readStats", "Tells the broker's figures", ReadStatsAsync),
        new ApiRoute
        {
            Method = "GET",
            Pattern = "/api/v1/live",
            Name = "streamLive",
            Summary = "Sends live figures as server-sent events, each a LiveBody",
            Query = [ApiParameter.Number("intervalMs", "Time between two events", 100, 60_000, UsualIntervalMs)],
            ContentType = "text/event-stream",
            ResponseType = typeof(LiveBody),
            IsStream = true,
            TellsFigures = true,
            Run = StreamAsync,
        },
    ];

    private static async Task<BrokerBody> DescribeAsync(ApiCall call)
    {
        HelloResponse hello = await call.AskAsync(link => link.ConnectAsync(call.LongestWait, call.Token));
        return new BrokerBody(
            hello.BrokerVersion,
            hello.StoreId,
            (long)hello.Incarnation,
            hello.MaxMessageBytes,
            hello.MaxBatchBytes,
            BodyTime.Of(hello.ServerTimeMs));
    }

    private static async Task<StatsBody> ReadStatsAsync(ApiCall call)
    {
        StatsResponse stats = await call.InvokeAsync(new StatsRequest());
        return new StatsBody(stats.Figures.ToDictionary(
            static figure => figure.Name, static figure => figure.Value, StringComparer.Ordinal));
    }

    private async Task StreamAsync(ApiCall call)
    {
        var interval = TimeSpan.FromMilliseconds((double)call.QueryNumber("intervalMs")!);
        call.Http.Response.ContentType = "text/event-stream";
        call.Http.Response.Headers.CacheControl = "no-store";
        using var timer = new PeriodicTimer(interval, time);
        LiveSample? before = null;
        IReadOnlyList<LiveGroup> shown = [];
        do
        {
            LiveSample sample = await live.SampleAsync(call.Token);
            if (ReferenceEquals(sample, before))
                continue;
            if (!ReferenceEquals(sample.Groups, before?.Groups))
                shown = [.. sample.Groups.Where(one => call.Asker.MaySee(ResourceKind.Group, one.Group))];
            await WriteAsync(call, sample.Since(before, shown));
            before = sample;
        }
        while (await timer.WaitForNextTickAsync(call.Token));
    }

    /// <summary>Writes one event; a reader that does not take it in time is cut.</summary>
    private async Task WriteAsync(ApiCall call, LiveBody body)
    {
        using var patience = new CancellationTokenSource(WritePatience, time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(patience.Token, call.Token);
        byte[] json = JsonSerializer.SerializeToUtf8Bytes(body, ApiJson.Options);
        try
        {
            await call.Http.Response.Body.WriteAsync(
                (byte[])[.. "event: figures\ndata: "u8, .. json, .. "\n\n"u8], either.Token);
            await call.Http.Response.Body.FlushAsync(either.Token);
        }
        catch (OperationCanceledException) when (patience.IsCancellationRequested)
        {
            call.Http.Abort();
            throw;
        }
    }
}
