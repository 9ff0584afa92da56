using System.Net;
using System.Text.Json;
using EQueue.Server.Configuration;
using EQueue.Server.Telemetry;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;

namespace EQueue.Server.Hosting;

/// <summary>The admin pages: whether the process lives, whether it serves, and the broker's figures as JSON and for
/// Prometheus.</summary>
/// <remarks>Starts before the broker, so that a long recovery can be told from a dead process.</remarks>
internal sealed class AdminService(
    ServerOptions options, BrokerService broker, ILoggerFactory loggers, ILogger<AdminService> logger)
    : IHostedService, IDisposable
{
    private WebApplication? _application;
    private MetricsPage? _metrics;

    /// <summary>Where the pages are, or <see langword="null"/> when they are turned off.</summary>
    public string? EndPoint { get; private set; }

    public async Task StartAsync(CancellationToken cancellationToken)
    {
        if (!options.HasAdmin) return;
        _metrics = new MetricsPage(logger);
        IPEndPoint endPoint = await ResolveAsync(options.AdminListen, cancellationToken);
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel =>
        {
            kestrel.Listen(endPoint);
            kestrel.AddServerHeader = false;
        });
        builder.Services.AddRoutingCore();
        builder.Services.AddSingleton(loggers);
        builder.Services.AddSingleton<IHostLifetime, SilentLifetime>();
        WebApplication application = builder.Build();
        application.MapGet("/health/live", AnswerLiveAsync);
        application.MapGet("/health/ready", AnswerReadyAsync);
        application.MapGet("/stats", AnswerStatsAsync);
        application.MapGet("/metrics", AnswerMetricsAsync);
        _application = application;
        await application.StartAsync(cancellationToken);
        string address = application.Services.GetRequiredService<IServer>()
            .Features.Get<IServerAddressesFeature>()!.Addresses.First();
        EndPoint = new Uri(address).Authority;
        Log.AdminServing(logger, EndPoint);
    }

    public async Task StopAsync(CancellationToken cancellationToken)
    {
        if (_application is not { } application) return;
        await application.StopAsync(cancellationToken);
        await application.DisposeAsync();
    }

    public void Dispose() => _metrics?.Dispose();

    private static async Task<IPEndPoint> ResolveAsync(string hostAndPort, CancellationToken cancellationToken)
    {
        int colon = hostAndPort.LastIndexOf(':');
        int port = int.Parse(hostAndPort.AsSpan(colon + 1));
        string host = hostAndPort[..colon].Trim('[', ']');
        if (IPAddress.TryParse(host, out IPAddress? address))
            return new IPEndPoint(address, port);
        IPAddress[] found = await Dns.GetHostAddressesAsync(host, cancellationToken);
        return new IPEndPoint(found[0], port);
    }

    private Task AnswerLiveAsync(HttpContext context) => AnswerAsync(context, StatusCodes.Status200OK, "live");

    private Task AnswerReadyAsync(HttpContext context) => broker.Serving is null
        ? AnswerAsync(context, StatusCodes.Status503ServiceUnavailable, "not ready")
        : AnswerAsync(context, StatusCodes.Status200OK, "ready");

    private Task AnswerStatsAsync(HttpContext context)
    {
        if (broker.Serving is not { } serving)
            return AnswerAsync(context, StatusCodes.Status503ServiceUnavailable, "not ready");
        byte[] body = WriteFigures(serving.CollectStats().Figures);
        context.Response.ContentType = "application/json";
        return context.Response.Body.WriteAsync(body, context.RequestAborted).AsTask();
    }

    private Task AnswerMetricsAsync(HttpContext context)
    {
        context.Response.ContentType = PrometheusWriter.ContentType;
        return context.Response.Body.WriteAsync(_metrics!.Write(), context.RequestAborted).AsTask();
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

    /// <summary>Signals are the server's own host's affair.</summary>
    private sealed class SilentLifetime : IHostLifetime
    {
        public Task WaitForStartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
    }
}
