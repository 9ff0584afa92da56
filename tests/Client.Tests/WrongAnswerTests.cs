namespace EQueue.Client.Tests;

/// <summary>A broker that gives every third request a wrong answer, or none.</summary>
public sealed class WrongAnswerTests
{
    [Theory]
    [InlineData((int)Verdict.StoreSilently)]
    [InlineData((int)Verdict.StoreAndClose)]
    [InlineData((int)Verdict.StoreAndFault)]
    [InlineData((int)Verdict.Close)]
    [InlineData((int)Verdict.Ignore)]
    [InlineData((int)Verdict.RefuseFirst)]
    public async Task GivenEveryThirdRequestGoesWrong_WhenSending_ThenEachMessageIsStoredOnceAndInOrder(int verdict)
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Script = n => n < 60 && n % 3 == 1 ? (Verdict)verdict : Verdict.Store;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(ProducerFaultTests.SmallBatches);

        List<SendReceipt> receipts = await ProducerFaultTests.SendAsync(producer, 3000);

        Assert.Equal(Enumerable.Range(0, 3000), fake.All());
        Assert.Equal(Enumerable.Range(0, 3000).Select(i => (long)i), receipts.Select(r => r.Offset.Value));
        Assert.True(fake.ProduceCount > 20);
    }
}
