using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>A client whose plan says where each attempt goes, when, and when to give up what was begun.</summary>
public sealed class ConnectPlanTests
{
    /// <summary>Long enough that no test ends by it.</summary>
    private static readonly TimeSpan Never = TimeSpan.FromMinutes(5);

    [Fact]
    public async Task GivenAPlan_WhenAttemptsFail_ThenEachGoesWhereItSaysAfterThePauseThatItSays()
    {
        await using TestServer server = await TestServer.StartAsync();
        var refusing = new IPEndPoint(IPAddress.Loopback, await FreePortAsync());
        var plan = new ScriptedPlan(refusing, refusing, server.EndPoint);
        await using RemotingClient client = NewClient(plan);
        Assert.Equal([1], await client.EchoAsync([1]));

        // The back-off of its own would let the client wait for minutes.
        Assert.Equal([1, 2], plan.Failures);
    }

    [Fact]
    public async Task GivenAPeerThatDoesNotAnswer_WhenThePlansPatienceIsOver_ThenTheNextAttemptGoesElsewhere()
    {
        await using TestServer server = await TestServer.StartAsync();
        using var silent = new Silent();
        var faults = new List<string>();
        var plan = new ScriptedPlan(silent.EndPoint, server.EndPoint) { Patience = TimeSpan.FromMilliseconds(200) };
        await using RemotingClient client = NewClient(plan, fault => faults.Add(fault.Reason));
        Assert.Equal([1], await client.EchoAsync([1]));
        Assert.Equal([$"No answer from {silent.EndPoint} within 0.2 s"], faults);
    }

    [Fact]
    public async Task GivenAnAttemptThatHangs_WhenToldToConnectAnew_ThenItIsGivenUpWithoutAWord()
    {
        await using TestServer server = await TestServer.StartAsync();
        using var silent = new Silent();
        var faults = new List<string>();
        await using RemotingClient client = NewClient(
            new ScriptedPlan(silent.EndPoint, server.EndPoint), fault => faults.Add(fault.Reason));
        Task<byte[]> call = client.EchoAsync([1]);
        await silent.WhenConnectedAsync();
        client.ConnectAnew(new IOException("elsewhere"));
        Assert.Equal([1], await call);
        Assert.Empty(faults);
    }

    [Fact]
    public async Task GivenAPause_WhenToldToConnectAnew_ThenItIsCutShort()
    {
        await using TestServer server = await TestServer.StartAsync();
        var refusing = new IPEndPoint(IPAddress.Loopback, await FreePortAsync());
        var plan = new ScriptedPlan(refusing, server.EndPoint) { Pause = Never };
        await using RemotingClient client = NewClient(plan);
        Task<byte[]> call = client.EchoAsync([1]);
        await Eventually.TrueAsync(() => plan.Failures.Count == 1);
        client.ConnectAnew(new IOException("elsewhere"));
        Assert.Equal([1], await call);
    }

    [Fact]
    public async Task GivenCallsUnderWay_WhenToldToConnectAnew_ThenTheyFailWithTheCauseAndTheNextGoesElsewhereAtOnce()
    {
        await using TestServer first = await TestServer.StartAsync();
        await using TestServer second = await TestServer.StartAsync();
        await using RemotingClient client = NewClient(
            new ScriptedPlan(first.EndPoint, second.EndPoint) { Pause = Never });
        Task<ResponseFrame> held = client.InvokeAsync(
            Calls.Buffer([1]), ScriptedHandler.Hold, 1, Never, CancellationToken.None).AsTask();
        await Eventually.TrueAsync(() => first.Handler.HeldCount == 1, "it is held");
        client.ConnectAnew(new IOException("elsewhere"));
        RemotingException lost = await Assert.ThrowsAsync<RemotingException>(() => held);
        Assert.Equal((RemotingError.ConnectionLost, "elsewhere"), (lost.Error, lost.InnerException?.Message));
        Assert.Equal([1], await client.EchoAsync([1]));
        Assert.Single(second.Handler.Connected);
    }

    private static RemotingClient NewClient(IConnectPlan plan, Action<ConnectFault>? failed = null) => new(
        new IPEndPoint(IPAddress.Loopback, 1),
        new RemotingClientOptions
        {
            Plan = plan,
            ConnectFailed = failed,
            HandshakeAsync = static async (channel, token) =>
            {
                using ResponseFrame answer =
                    await channel.InvokeAsync(Calls.Buffer([0]), ScriptedHandler.Echo, 1, token);
            },
            ConnectTimeout = Never,
            ReconnectDelay = Never,
            MaxReconnectDelay = Never,
        },
        new CollectedLog());

    private static async Task<int> FreePortAsync()
    {
        await using TestServer server = await TestServer.StartAsync();
        return server.EndPoint.Port;
    }

    /// <summary>Goes to one end point after the other, and stays at the last.</summary>
    private sealed class ScriptedPlan(params EndPoint[] endPoints) : IConnectPlan
    {
        private int _next;

        public TimeSpan Patience { get; init; } = Timeout.InfiniteTimeSpan;

        public TimeSpan Pause { get; init; }

        public List<int> Failures { get; } = [];

        public ConnectTarget Next() => new(endPoints[Math.Min(_next++, endPoints.Length - 1)], Patience);

        public TimeSpan? PauseAfter(int failures)
        {
            Failures.Add(failures);
            return Pause;
        }
    }

    /// <summary>A stopped process: the system takes the connection, and nothing answers.</summary>
    private sealed class Silent : IDisposable
    {
        private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

        public Silent()
        {
            _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            _listener.Listen(10);
        }

        public EndPoint EndPoint => _listener.LocalEndPoint!;

        public async Task WhenConnectedAsync() => await _listener.AcceptAsync();

        public void Dispose() => _listener.Dispose();
    }
}
