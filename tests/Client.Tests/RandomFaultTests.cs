namespace EQueue.Client.Tests;

/// <summary>A broker whose answers are wrong at random.</summary>
public sealed class RandomFaultTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(5)]
    public async Task GivenRandomFaults_WhenManyKeysAreSent_ThenEachKeyKeepsItsOrder(int seed)
    {
        await using FakeBroker fake = await FakeBroker.StartAsync(queueCount: 5);
        var random = new Random(seed);
        Verdict[] verdicts = Enum.GetValues<Verdict>().Where(v => v != Verdict.Hold).ToArray();
        Verdict[] script = Enumerable.Range(0, 100)
            .Select(_ => random.Next(3) == 0 ? verdicts[random.Next(verdicts.Length)] : Verdict.Store).ToArray();
        fake.Script = n => n < script.Length ? script[n] : Verdict.Store;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(ProducerFaultTests.SmallBatches);

        await ProducerFaultTests.SendAsync(producer, 5000, keys: 50);

        Assert.Equal(Enumerable.Range(0, 5000), fake.All().Order());
        foreach (List<int> queue in fake.Stored.Values)
        {
            foreach (IGrouping<int, int> key in queue.GroupBy(value => value % 50))
                Assert.Equal(key.Order(), key);
        }
    }
}
