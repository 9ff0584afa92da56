using EQueue.Server.Configuration;
using OpenTelemetry;
using OpenTelemetry.Exporter;
using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;

namespace EQueue.Server.Telemetry;

/// <summary>Sends the metrics to a collector over OTLP, when a setting or the standard environment names one.</summary>
/// <remarks>
/// Starts behind the broker and stops before it, with one last round. Whatever else OTEL_* variables say (protocol,
/// headers, interval, names of the service) holds. A collector that is away costs what it misses, nothing else.
/// </remarks>
internal sealed class MetricsExport(ServerOptions options, ILogger<MetricsExport> logger) : IHostedService, IDisposable
{
    private const string MetricsPath = "v1/metrics";
    private const int LastRoundMs = 5_000;

    private MeterProvider? _provider;

    /// <summary>Whether anybody wants the metrics.</summary>
    public bool IsOn => options.OtlpEndpoint is not null
        || HasVariable("OTEL_EXPORTER_OTLP_ENDPOINT")
        || HasVariable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");

    public Task StartAsync(CancellationToken cancellationToken)
    {
        if (!IsOn || IsDisabled())
            return Task.CompletedTask;
        string version = typeof(MetricsExport).Assembly.GetName().Version?.ToString() ?? "";
        Uri? endpoint = null;
        _provider = Sdk.CreateMeterProviderBuilder()
            .ConfigureResource(resource => resource
                .Clear()
                .AddService("equeue-server", serviceVersion: version)
                .AddTelemetrySdk()
                .AddEnvironmentVariableDetector())
            .AddMeter(MetricsPage.Meters)
            .AddOtlpExporter(exporter =>
            {
                if (options.OtlpEndpoint is { } wanted)
                    exporter.Endpoint = AddressOf(wanted, exporter.Protocol);
                endpoint = exporter.Endpoint;
            })
            .Build();
        Log.Exporting(logger, endpoint);
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken cancellationToken) => _provider is { } provider
        ? Task.Run(() => provider.Shutdown(LastRoundMs), cancellationToken)
        : Task.CompletedTask;

    public void Dispose() => _provider?.Dispose();

    /// <summary>Over HTTP an address without a path means its usual path, as it does in the environment.</summary>
    internal static Uri AddressOf(Uri wanted, OtlpExportProtocol protocol) =>
        protocol == OtlpExportProtocol.HttpProtobuf && wanted.AbsolutePath == "/"
            ? new Uri(wanted, MetricsPath)
            : wanted;

    private static bool HasVariable(string name) =>
        !string.IsNullOrWhiteSpace(Environment.GetEnvironmentVariable(name));

    private static bool IsDisabled() => string.Equals(
        Environment.GetEnvironmentVariable("OTEL_SDK_DISABLED"), "true", StringComparison.OrdinalIgnoreCase);
}
