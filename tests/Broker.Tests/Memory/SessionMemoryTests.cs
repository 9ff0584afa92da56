using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests.Memory;

/// <summary>Fetch sessions take memory with their queues: a connection has a share, all together have a bound.</summary>
public sealed class SessionMemoryTests
{
    private const int Queues = 800;

    [Fact]
    [EffectOf("Limits:FetchSessionBytes")]
    public async Task GivenSessionsWithManyQueues_WhenTheyTakeWhatThereIs_ThenLimitReachedNamesTheSettingUntilTheyEnd()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { FetchSessionBytes = 1 << 20 } });
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = [.. (await peer.CreateTopicAsync("orders", 2 * Queues)).Queues.Select(queue => queue.Id)];

        // More than a connection's share.
        EQueueException own = await Assert.ThrowsAsync<EQueueException>(() => TryOpenAsync(peer, queues));
        Assert.Equal(ErrorCode.LimitReached, own.Code);
        Assert.Contains("(Limits:FetchSessionBytes)", own.Message, StringComparison.Ordinal);

        var held = new List<TestPeer>();
        EQueueException? refusal = null;
        try
        {
            while (refusal is null && held.Count < 20)
            {
                TestPeer one = await broker.ConnectAsync();
                held.Add(one);
                refusal = await Record.ExceptionAsync(() => TryOpenAsync(one, queues[..Queues])) as EQueueException;
            }

            Assert.Equal(ErrorCode.LimitReached, refusal?.Code);
            Assert.InRange(held.Count, 4, 6);
            Assert.InRange(await UsedAsync(peer), 500_000, 1 << 20);
        }
        finally
        {
            foreach (TestPeer one in held)
                await one.DisposeAsync();
        }

        await Eventually.TrueAsync(async () => await UsedAsync(peer) == 0);
    }

    [Fact]
    public async Task GivenAConnectionAtItsShare_WhenItOpensOneMore_ThenTheSessionThatRestedLongestEnds()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { FetchSessionBytes = 1 << 20 } });
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = [.. (await peer.CreateTopicAsync("orders", Queues)).Queues.Select(queue => queue.Id)];
        for (int i = 0; i < 4; i++)
            await peer.FetchAsync(Open(queues));
        Assert.Equal(1, await peer.FigureAsync("broker.fetchSessions"));
    }

    [Fact]
    public async Task GivenASession_WhenQueuesComeAndGo_ThenItsMemoryIsCountedExactly()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = [.. (await peer.CreateTopicAsync("orders", 10)).Queues.Select(queue => queue.Id)];
        long empty = await EmptyAsync(peer);
        FetchRequest open = Open(queues[..5]);
        Fetched first = await peer.FetchAsync(open);
        long five = await UsedAsync(peer) - (2 * empty);
        await peer.FetchAsync(open with
        {
            SessionId = first.Session,
            Sequence = 1,
            Queues = [.. queues[3..].Select(queue => Messages.From(queue, 0))],
            Removed = [.. queues[..5].Select(queue => new QueueKey(0, queue))],
        });
        Assert.Equal((2 * empty) + (five / 5 * 7), await UsedAsync(peer));
    }

    /// <summary>What a session without queues takes.</summary>
    private static async Task<long> EmptyAsync(TestPeer peer)
    {
        long before = await UsedAsync(peer);
        await peer.FetchAsync(Open([]));
        long bytes = await UsedAsync(peer) - before;
        Assert.True(bytes > 0);
        return bytes;
    }

    private static async Task TryOpenAsync(TestPeer peer, QueueId[] queues)
    {
        using ResponseFrame answer = await peer.SendAsync(Opcode.Fetch, TestPeer.Encode(Open(queues)));
        if (answer.Header.Error != 0)
            throw ErrorDetail.ToException((ErrorCode)answer.Header.Error, answer.Payload.Span);
    }

    private static Task<long> UsedAsync(TestPeer peer) => peer.FigureAsync("memory.usedBytes{sessions}");

    private static FetchRequest Open(QueueId[] queues) =>
        Messages.Open(0, [.. queues.Select(queue => Messages.From(queue, 0))]);
}
