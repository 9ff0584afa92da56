using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Client.Tests.Histories;

/// <summary>A producer that lives while the log gets another history: what it is told to be stored is stored.</summary>
public sealed class ProducerHistoryTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenTheLogSetBack_WhenALivingProducerSendsOn_ThenWhatItIsToldIsStoredOnce(bool isPowerCut)
    {
        await using ForkingBroker broker = await ForkingBroker.StartAsync(
            isPowerCut ? FlushPolicy.Async : FlushPolicy.Sync, queues: 2);
        await broker.SendAsync(40, areDurable: true);
        await broker.SendAsync(1);
        SimulatedDisk save = broker.Save();
        await broker.SendAsync(60);
        if (isPowerCut)
            await broker.CutPowerAsync();
        else
            await broker.KillAsync(putBack: save);
        int before = broker.Acknowledged.Count;
        await broker.SendAsync(80);

        List<(int Queue, long Offset, int Value)> stored = await broker.ReadAllAsync();
        Assert.All(
            broker.Acknowledged.Skip(before),
            sent => Assert.Contains((sent.Queue, sent.Offset, sent.Value), stored));
        Assert.Equal(stored.Count, stored.Select(static one => one.Value).Distinct().Count());
        foreach (IGrouping<int, (int Queue, long Offset, int Value)> queue in stored.GroupBy(static one => one.Queue))
            Assert.Equal(queue.Select(static one => one.Value).Order(), queue.Select(static one => one.Value));
    }

    [Fact]
    public async Task GivenProducersOfTwoHistories_WhenBothSendInOne_ThenNoneTakesTheOthersMessageForItsOwn()
    {
        await using ForkingBroker broker = await ForkingBroker.StartAsync();
        await broker.SendAsync(3);
        SimulatedDisk save = broker.Save();
        await using Producer first = broker.Client.CreateProducer();
        List<(int Value, long Offset)> told = [];
        for (int i = 0; i < 3; i++)
            told.Add((1_000 + i, await SendAsync(first, 1_000 + i)));
        await broker.KillAsync(putBack: save);

        // The copy gives out anew what it has not given out yet; the first producer remains what it was.
        await using Producer second = broker.Client.CreateProducer();
        told.Clear();
        for (int i = 0; i < 8; i++)
            told.Add((2_000 + i, await SendAsync(second, 2_000 + i)));
        for (int i = 3; i < 8; i++)
            told.Add((1_000 + i, await SendAsync(first, 1_000 + i)));

        var stored = (await broker.ReadAllAsync()).Select(static one => (one.Value, one.Offset)).ToList();
        Assert.All(told, one => Assert.Contains(one, stored));
    }

    private static async Task<long> SendAsync(Producer producer, int value) => (await producer.SendAsync(
        ForkingBroker.Topic, BitConverter.GetBytes(value), cancellationToken: Token)).Offset.Value;
}
