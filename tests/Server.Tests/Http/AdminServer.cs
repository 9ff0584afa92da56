using System.Net;
using System.Text;
using System.Text.Json.Nodes;
using EQueue.Protocol;
using EQueue.Server.Admin;
using EQueue.Server.Configuration;
using EQueue.Server.Engine;
using EQueue.Server.Http;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Server.Tests.Http;

/// <summary>The admin port before a broker in memory, both in this process.</summary>
internal sealed class AdminServer : IAsyncDisposable
{
    private readonly HandLifetime _lifetime = new();
    private readonly TimeProvider _time;

    private AdminServer(ServerOptions options, TimeProvider? time)
    {
        _time = time ?? TimeProvider.System;
        Broker = Given.Broker(options, _lifetime);
        Admin = new AdminService(
            options, Broker, _time, NullLoggerFactory.Instance, NullLogger<AdminService>.Instance);
    }

    public BrokerService Broker { get; }

    public AdminService Admin { get; }

    public HttpClient Http { get; private set; } = null!;

    public IPEndPoint EndPoint => IPEndPoint.Parse(Admin.EndPoint!);

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    public static async Task<AdminServer> StartAsync(
        Func<AdminOptions, AdminOptions>? change = null,
        bool isServing = true,
        TimeProvider? time = null,
        params (string Key, string Value)[] settings)
    {
        (string Key, string Value)[] usual =
            [("Server:Listen", "127.0.0.1:0"), ("Server:AdminListen", "127.0.0.1:0"), ("Store:Memory", "134217728")];
        ServerOptions options = Given.Settings(
            [.. usual.Where(one => settings.All(other => other.Key != one.Key)), .. settings]);
        var server = new AdminServer(change is null ? options : options.WithAdmin(change), time);
        await server.Admin.StartAsync(Token);
        if (isServing)
            await server.Broker.StartAsync(Token);
        server.Http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin.EndPoint}") };
        return server;
    }

    /// <summary>A connection to the broker in a principal's name; the caller disposes it.</summary>
    public AskerClient LinkOf(string principal) =>
        new(
            Broker.InMemory!, Broker.MaxFrameBytes, TimeSpan.FromSeconds(30),
            new InProcessWord(principal, Address: null));

    /// <summary>As a signal does, before anything is stopped.</summary>
    public void BeginStop() => _lifetime.StopApplication();

    public Task<HttpResponseMessage> SendAsync(string method, string path, string? json = null)
    {
        var request = new HttpRequestMessage(new HttpMethod(method), path);
        if (json is not null)
            request.Content = new StringContent(json, Encoding.UTF8, "application/json");
        return Http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, Token);
    }

    /// <summary>Asks and reads the JSON of the answer, which has to have the status.</summary>
    public async Task<JsonObject> AskAsync(
        string method, string path, string? json = null, HttpStatusCode status = HttpStatusCode.OK)
    {
        using HttpResponseMessage answer = await SendAsync(method, path, json);
        string text = await answer.Content.ReadAsStringAsync(Token);
        Assert.True(answer.StatusCode == status, $"{(int)answer.StatusCode}: {text}");
        return text.Length == 0 ? [] : JsonNode.Parse(text)!.AsObject();
    }

    public async ValueTask DisposeAsync()
    {
        _lifetime.StopApplication();
        Http?.Dispose();
        await Broker.StopAsync(CancellationToken.None);
        await Admin.StopAsync(CancellationToken.None);
        Admin.Dispose();
        _lifetime.Dispose();
    }
}
