using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Quotas;

/// <summary>A broker of its own whose clock the test moves, and peers by name.</summary>
public abstract class QuotaTest : IAsyncLifetime
{
    private protected const int Long = 60_000;

    private readonly List<TestPeer> _peers = [];

    private protected ManualTime Time { get; } = new();

    private protected TestBroker Broker { get; set; } = null!;

    private protected TestPeer Admin { get; set; } = null!;

    private protected QueueId Queue { get; private set; }

    public async ValueTask InitializeAsync()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        Broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { MaxQuotas = 5 } }, Time);
        Admin = await ConnectAsync("admin");
        Queue = await CreateAsync("orders");
    }

    public async ValueTask DisposeAsync()
    {
        foreach (TestPeer peer in _peers)
            await peer.DisposeAsync();
        await Broker.DisposeAsync();
        GC.SuppressFinalize(this);
    }

    private protected static string Text(int bytes) => new('x', bytes);

    private protected async Task<TestPeer> ConnectAsync(string name)
    {
        TestPeer peer = await Broker.ConnectAsync(name);
        _peers.Add(peer);
        return peer;
    }

    private protected async Task<QueueId> CreateAsync(string topic) =>
        (await Admin.CreateTopicAsync(topic)).Queues[0].Id;

    private protected Task SetAsync(
        QuotaKind kind, string name, long produce = 0, long fetch = 0, long requests = 0) =>
        Admin.InvokeAsync(new SetQuotaRequest(new Quota(kind, name, produce, fetch, requests)));

    private protected Task SlowedAsync(int requests) => Eventually.TrueAsync(
        async () => await Admin.FigureAsync("broker.throttledRequests") >= requests, $"{requests} should be slowed");
}
