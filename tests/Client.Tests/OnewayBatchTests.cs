using System.Diagnostics;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Oneway messages while the broker reads nothing: they gather, and leave in batches worth a frame.</summary>
public sealed class OnewayBatchTests : IAsyncLifetime
{
    private const int LargeBytes = 100 * 1024;

    private readonly InMemoryEndPoint _inMemory = new();
    private readonly TaskCompletionSource _reading = new();
    private FakeBroker _fake = null!;
    private EQueueClient _client = null!;
    private Producer _producer = null!;
    private readonly Dictionary<string, int> _sentTo = [];
    private int _sent;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    public async ValueTask InitializeAsync()
    {
        _fake = await FakeBroker.StartAsync(inMemory: _inMemory);
        _client = new EQueueClient(new ClientOptions { InMemory = _inMemory });
        _producer = _client.CreateProducer();
        await _producer.SendAsync("t", BitConverter.GetBytes(-1), cancellationToken: Token);
        _sent = 1;
        _fake.Reading = _reading.Task;
    }

    public async ValueTask DisposeAsync()
    {
        _reading.TrySetResult();
        await _producer.DisposeAsync();
        await _client.DisposeAsync();
        await _fake.DisposeAsync();
    }

    [Fact]
    public async Task GivenAConnectionThatIsBusy_WhenOnewayMessagesCome_ThenTheyLeaveTogether()
    {
        const int Messages = 10_000;

        // More than the transport takes, less than the connection's queue does.
        const int Large = 30;
        Send(Large, LargeBytes);
        var began = Stopwatch.StartNew();
        for (int i = 0; i < Messages; i++)
        {
            Send(1, sizeof(int));
            Thread.SpinWait(1000);
        }

        // One batch a millisecond at the most.
        int mostBatches = (int)began.ElapsedMilliseconds + 2;
        Assert.InRange(await ReadOnAsync() - Large, 1, Math.Min(mostBatches, Messages / 2));
    }

    [Fact]
    public async Task GivenAConnectionWhoseQueueIsFull_WhenOnewayMessagesFillBatches_ThenTheseGrow()
    {
        const int Messages = 4000;
        const int MessageBytes = 1000;
        const int Large = 120;
        Send(Large, LargeBytes);
        Send(Messages, MessageBytes);

        // Headers take some room, and the last one is not full.
        int fullBatches = Messages * MessageBytes / new ProducerOptions().BatchBytes;
        Assert.InRange(await ReadOnAsync() - Large, fullBatches, fullBatches + 4);
    }

    [Fact]
    public async Task GivenFullBatchesThatWait_WhenAnotherTopicHasOneMessage_ThenThatLeavesInItsTurnAndAllStayInOrder()
    {
        const int Messages = 4000;
        const int MessageBytes = 1000;
        Send(120, LargeBytes);
        Send(Messages, MessageBytes, "heavy");
        Send(1, sizeof(int), "light");
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        Send(Messages, MessageBytes, "heavy");
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        await ReadOnAsync();

        Assert.Equal(Enumerable.Range(0, 2 * Messages), _fake.Bodies("heavy"));
        var batches = _fake.Requests.SelectMany(static request => request.Batches).ToList();
        int isBehind = batches.SkipWhile(static batch => batch.Topic != "light").Count(batch => batch.Topic == "heavy");
        Assert.InRange(isBehind, Messages * MessageBytes / new ProducerOptions().BatchBytes - 1, batches.Count);
    }

    /// <summary>The bodies begin with the number of the message in its topic.</summary>
    private void Send(int count, int bodyBytes, string topic = "t")
    {
        int first = _sentTo.GetValueOrDefault(topic);
        for (int i = 0; i < count; i++)
        {
            byte[] body = new byte[bodyBytes];
            BitConverter.TryWriteBytes(body, first + i);
            _producer.SendOneway(topic, body, cancellationToken: Token);
        }

        _sentTo[topic] = first + count;
        _sent += count;
    }

    /// <returns>The oneway requests that came.</returns>
    private async Task<int> ReadOnAsync()
    {
        _reading.SetResult();
        await _producer.FlushAsync(Token);
        await Eventually.TrueAsync(() => _fake.All().Count == _sent, "all have come");
        return _fake.ProduceCount - 1;
    }
}
