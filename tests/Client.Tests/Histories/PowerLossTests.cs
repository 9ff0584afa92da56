using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Client.Tests.Histories;

/// <summary>Async flush and a power cut: 1,500 messages were consumed and committed, the log comes back with 1,000, and
/// 1,000 new ones get the offsets of those that are lost and more.</summary>
public sealed class PowerLossTests
{
    private const int Diverged = 5140;
    private const int Durable = 1_000;
    private const int Lost = 500;
    private const int New = 1_000;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(true, true)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    [InlineData(false, false)]
    public async Task GivenConsumedAndCommittedMessagesLost_WhenNewOnesGetTheirOffsets_ThenALivingReaderMeetsEachOnce(
        bool isMember, bool isBackBefore)
    {
        await using ForkingBroker broker = await ForkingBroker.StartAsync(FlushPolicy.Async);
        await using LivingReader reader = await ConsumeAndCommitAsync(broker, isMember);

        await broker.CutPowerAsync();
        Assert.Equal(Durable, await EndAsync(broker));
        if (isBackBefore)
            await Eventually.TrueAsync(() => reader.Log.CountOf(Diverged) == 1, "the reader was told");
        await broker.SendAsync(New);

        await reader.HasReadAsync(Durable + Lost + New - 1);
        Assert.Equal(1, reader.Log.CountOf(Diverged));
        Assert.Contains(
            reader.Log.Texts, static line => line.Contains($"up to {Durable + Lost}") && line.Contains($"at {Durable}"));
        Assert.Equal(
            Enumerable.Range(0, Durable + Lost + New).Select(static value => (
                value < Durable + Lost ? value : value - Lost, value)),
            reader.Read.Select(static one => ((int)one.Offset, one.Value)));
        await HasCommittedAsync(broker, reader, Durable + New);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenConsumedAndCommittedMessagesLost_WhenTheReaderStartsAnew_ThenItBeginsWhereTheGroupStoodInThisLog(
        bool isMember)
    {
        // A process that remembers nothing: the group's progress is all there is, and it lost its end with the log.
        await using ForkingBroker broker = await ForkingBroker.StartAsync(FlushPolicy.Async);
        await using (await ConsumeAndCommitAsync(broker, isMember))
        {
            // Gone before the power is.
        }

        await broker.CutPowerAsync();
        await broker.SendAsync(New);
        await using var client = new EQueueClient(new ClientOptions { Addresses = broker.Address });
        await using Consumer consumer = client.CreateConsumer(
            LivingReader.Group,
            [ForkingBroker.Topic],
            new ConsumerOptions { StopAtEnd = true, StartAt = StartPosition.Begin });
        List<int> read = [];
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            read.Add(BitConverter.ToInt32(message.Body.Span));

        var expected = Enumerable.Range(0, Durable).Concat(Enumerable.Range(Durable + Lost, New)).ToList();
        Assert.InRange(read.Count, New, expected.Count);
        Assert.Equal(expected[^read.Count..], read);
    }

    [Fact]
    public async Task GivenAcknowledgedMessagesLost_WhenTheProducerSendsOn_ThenWhatItIsToldIsStoredOnceAndInOrder()
    {
        await using ForkingBroker broker = await ForkingBroker.StartAsync(FlushPolicy.Async);
        await broker.SendAsync(Durable, areDurable: true);
        await broker.SendAsync(Lost);
        await broker.CutPowerAsync();
        await broker.SendAsync(New);

        Assert.Equal(
            Enumerable.Range(0, New).Select(static i => (Durable + Lost + i, 0, (long)Durable + i)),
            broker.Acknowledged.Skip(Durable + Lost));
        Assert.Equal(
            Enumerable.Range(0, Durable).Concat(Enumerable.Range(Durable + Lost, New)),
            (await broker.ReadAllAsync()).Select(static one => one.Value));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task GivenSendsUnderWay_WhenThePowerIsCut_ThenEachThatIsAcknowledgedAsDurableIsStoredOnce(int seed)
    {
        await using ForkingBroker broker = await ForkingBroker.StartAsync(FlushPolicy.Async);
        await broker.SendAsync(1, areDurable: true);
        int changes = 0;
        var half = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        broker.Disk.OnChange = (kind, _) =>
        {
            if (kind == DiskOperationKind.SyncFile && Interlocked.Increment(ref changes) == 5 * seed)
                half.SetResult();
        };
        var sending = Task.Run(async () =>
        {
            for (int i = 0; i < 50; i++)
                await broker.SendAsync(20, areDurable: true);
        });
        await half.Task.WaitAsync(TimeSpan.FromSeconds(60), Token);
        Assert.False(sending.IsCompleted);
        await broker.CutPowerNowAsync(seed);
        await sending;

        List<(int Queue, long Offset, int Value)> stored = await broker.ReadAllAsync();
        Assert.Equal(1_001, broker.Acknowledged.Count);
        Assert.Equal(broker.Acknowledged.Select(static one => (one.Queue, one.Offset, one.Value)), stored);
    }

    /// <summary>A reader that has read and committed everything, two thirds of it durable.</summary>
    private static async Task<LivingReader> ConsumeAndCommitAsync(ForkingBroker broker, bool isMember)
    {
        await broker.SendAsync(Durable, areDurable: true);
        LivingReader reader = await LivingReader.StartAsync(broker.Address, isMember);
        await broker.SendAsync(Lost);
        await reader.HasReadAsync(Durable + Lost - 1);
        await HasCommittedAsync(broker, reader, Durable + Lost);
        return reader;
    }

    private static Task HasCommittedAsync(ForkingBroker broker, LivingReader reader, long next) =>
        Eventually.TrueAsync(async () =>
        {
            await reader.CommitAsync();
            IReadOnlyList<QueueOffset> offsets = await broker.Client.Admin.ReadGroupOffsetsAsync(
                LivingReader.Group, ForkingBroker.Topic, Token);
            return offsets[0].Value == next;
        });

    private static async Task<long> EndAsync(ForkingBroker broker) =>
        (await broker.Client.Admin.DescribeTopicAsync(ForkingBroker.Topic, Token)).Queues[0].End.Value;
}
