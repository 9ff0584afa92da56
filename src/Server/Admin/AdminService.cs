using System.Net;
using System.Net.Sockets;
using EQueue.Remoting;
using EQueue.Server.Configuration;
using EQueue.Server.Engine;
using EQueue.Server.Http;
using EQueue.Server.Telemetry;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace EQueue.Server.Admin;

/// <summary>The admin port: Kestrel with the pages and the API.</summary>
/// <remarks>Starts before the broker, so that a long recovery can be told from a dead process, and stops behind
/// it.</remarks>
internal sealed class AdminService(
    ServerOptions options, BrokerService broker, TimeProvider time, ILoggerFactory loggers,
    ILogger<AdminService> logger) : IHostedService, IDisposable
{
    private const int BesideCounted = 64;
    private const double LeastBytesPerSecond = 240;

    /// <summary>How long answers that peers do not take may hold up the end.</summary>
    private static readonly TimeSpan StopPatience = TimeSpan.FromSeconds(5);

    private readonly AdminPlaces _places =
        new((4 * (options.Admin.MaxRequests + options.Admin.MaxStreams)) + BesideCounted);

    private WebApplication? _application;
    private MetricsPage? _metrics;
    private AdminPages? _pages;
    private AdminApi? _api;

    /// <summary>Where the port is, or <see langword="null"/> when it is turned off.</summary>
    public string? EndPoint { get; private set; }

    /// <summary>Connections that are open now.</summary>
    public int ConnectionCount => _places.Count;

    /// <summary>What the application routes, as methods and patterns.</summary>
    public IEnumerable<(string Method, string Pattern)> EndPoints =>
        from endPoint in _application!.Services.GetRequiredService<EndpointDataSource>().Endpoints
            .OfType<RouteEndpoint>()
        from method in endPoint.Metadata.GetMetadata<IHttpMethodMetadata>()!.HttpMethods
        select (method, endPoint.RoutePattern.RawText!);

    public async Task StartAsync(CancellationToken cancellationToken)
    {
        if (!options.HasAdmin)
            return;
        foreach ((string setting, string open) in RemoteAccess.FindOpen(options))
            Log.OpenToAll(logger, setting, open);
        _metrics = new MetricsPage(logger);
        _pages = new AdminPages(broker, _metrics);
        IPEndPoint endPoint = await ResolveAsync(cancellationToken);
        _api = new AdminApi(broker, options, _pages.All, time, logger)
        {
            IsLoopback = IPAddress.IsLoopback(endPoint.Address),
        };
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel =>
        {
            kestrel.Listen(endPoint, listen =>
            {
                listen.Protocols = HttpProtocols.Http1;
                listen.Use(next => connection => _places.RunAsync(connection, next));
            });
            kestrel.AddServerHeader = false;
            Bound(kestrel.Limits);
        });
        builder.Services.AddRoutingCore();
        builder.Services.AddSingleton(loggers);
        builder.Services.AddSingleton<IHostLifetime, SilentLifetime>();
        WebApplication application = builder.Build();
        application.Use(_places.RunRequestAsync);
        _api.Map(application);
        _application = application;
        await ListenAsync(application, cancellationToken);
        string address = application.Services.GetRequiredService<IServer>()
            .Features.Get<IServerAddressesFeature>()!.Addresses.First();
        EndPoint = new Uri(address).Authority;
        Log.AdminServing(logger, EndPoint);
    }

    public async Task StopAsync(CancellationToken cancellationToken)
    {
        if (_application is not { } application)
            return;
        using var patience = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        patience.CancelAfter(StopPatience);
        await application.StopAsync(patience.Token);
        await application.DisposeAsync();
        await _api!.DisposeAsync();
    }

    public void Dispose()
    {
        _pages?.Dispose();
        _metrics?.Dispose();
    }

    private void Bound(KestrelServerLimits limits)
    {
        AdminOptions admin = options.Admin;
        limits.MaxRequestBodySize = admin.MaxBodyBytes;
        limits.KeepAliveTimeout = admin.IdleTimeout;
        limits.RequestHeadersTimeout = TimeSpan.FromSeconds(10);
        limits.MinRequestBodyDataRate = new MinDataRate(LeastBytesPerSecond, admin.SlowPeerGrace);
        limits.MinResponseDataRate = new MinDataRate(LeastBytesPerSecond, admin.SlowPeerGrace);
    }

    private async Task<IPEndPoint> ResolveAsync(CancellationToken cancellationToken)
    {
        EndPoint endPoint = HostPort.Parse(options.AdminListen);
        if (endPoint is not DnsEndPoint name)
            return (IPEndPoint)endPoint;
        try
        {
            IPAddress[] found = await Dns.GetHostAddressesAsync(name.Host, cancellationToken);
            return new IPEndPoint(found[0], name.Port);
        }
        catch (SocketException exception)
        {
            throw Refused(exception);
        }
    }

    /// <summary>Opens the port; Kestrel hides in various ways that it cannot.</summary>
    private async Task ListenAsync(WebApplication application, CancellationToken cancellationToken)
    {
        try
        {
            await application.StartAsync(cancellationToken);
        }
        catch (Exception exception) when (FindSocketError(exception) is not null)
        {
            throw Refused(FindSocketError(exception)!);
        }
    }

    private static SocketException? FindSocketError(Exception? exception) =>
        exception is null or SocketException ? (SocketException?)exception : FindSocketError(exception.InnerException);

    private PortException Refused(SocketException exception) =>
        new("Server:AdminListen", options.AdminListen, exception);

    /// <summary>Signals are the server's own host's affair.</summary>
    private sealed class SilentLifetime : IHostLifetime
    {
        public Task WaitForStartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
    }
}
