using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Client.Tests.Histories;

/// <summary>A producer that lives while the log gets another history: what it is told to be stored is stored.</summary>
public sealed class ProducerHistoryTests
{
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenTheLogSetBack_WhenALivingProducerSendsOn_ThenWhatItIsToldIsStoredOnce(bool isPowerCut)
    {
        await using var broker = await ForkingBroker.StartAsync(
            isPowerCut ? FlushPolicy.Async : FlushPolicy.Sync, queues: 2);
        await broker.SendAsync(40, areDurable: true);
        await broker.SendAsync(1);
        var save = broker.Save();
        await broker.SendAsync(60);
        if (isPowerCut)
            await broker.CutPowerAsync();
        else
            await broker.KillAsync(putBack: save);
        var before = broker.Acknowledged.Count;
        await broker.SendAsync(80);

        var stored = await broker.ReadAllAsync();
        Assert.All(broker.Acknowledged.Skip(before), sent => Assert.Contains((sent.Queue, sent.Offset, sent.Value), stored));
        Assert.Equal(stored.Count, stored.Select(static one => one.Value).Distinct().Count());
        foreach (var queue in stored.GroupBy(static one => one.Queue))
            Assert.Equal(queue.Select(static one => one.Value).Order(), queue.Select(static one => one.Value));
    }
}
