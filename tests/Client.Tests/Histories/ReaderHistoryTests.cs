using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Client.Tests.Histories;

/// <summary>A reader that lives while the log gets another history: it meets every message that the log holds, and is
/// told where it had to go back.</summary>
public sealed class ReaderHistoryTests
{
    private const int Diverged = 5140;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(true, true)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    [InlineData(false, false)]
    public async Task GivenTheDirectoryPutBack_WhenNewMessagesFollow_ThenALivingReaderMeetsAllOfThem(
        bool isMember, bool isBackBefore)
    {
        await using ForkingBroker broker = await ForkingBroker.StartAsync();
        await broker.SendAsync(100);
        await using var wire = new TcpRelay(broker.Address);
        await using LivingReader reader = await LivingReader.StartAsync(wire.Address, isMember);
        await reader.HasReadAsync(99);
        SimulatedDisk save = broker.Save();
        await broker.SendAsync(100);
        await reader.HasReadAsync(199);

        if (!isBackBefore)
            wire.Refuse();
        await broker.KillAsync(putBack: save);
        if (isBackBefore)
            await Eventually.TrueAsync(() => reader.Log.CountOf(Diverged) == 1);
        await broker.SendAsync(150);
        wire.Pass();

        await HasAllAsync(broker, reader);
        Assert.Equal(1, reader.Log.CountOf(Diverged));
        Assert.Contains(reader.Log.Texts, static line => line.Contains("up to 200") && line.Contains("at 100"));
        Assert.Equal(350, reader.Read.Count); // nothing of what both histories have is read again
    }

    [Theory]
    [InlineData(true, true)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    [InlineData(false, false)]
    public async Task GivenAsyncFlushAndAPowerCut_WhenNewMessagesFollow_ThenALivingReaderMeetsAllOfThem(
        bool isMember, bool isBackBefore)
    {
        await using ForkingBroker broker = await ForkingBroker.StartAsync(FlushPolicy.Async);
        await broker.SendAsync(200, areDurable: true);
        await using var wire = new TcpRelay(broker.Address);
        await using LivingReader reader = await LivingReader.StartAsync(wire.Address, isMember);
        await broker.SendAsync(100);
        await reader.HasReadAsync(299);

        if (!isBackBefore)
            wire.Refuse();
        await broker.CutPowerAsync();
        if (isBackBefore)
            await Eventually.TrueAsync(() => reader.Log.CountOf(Diverged) == 1);
        await broker.SendAsync(200);
        wire.Pass();

        await HasAllAsync(broker, reader);
        Assert.Equal(1, reader.Log.CountOf(Diverged));
        Assert.Equal(500, reader.Read.Count);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenTheSameCopyPutBackAgainAndAgain_WhenEpochsAreEqual_ThenNothingIsPassedOver(bool isMember)
    {
        await using ForkingBroker broker = await ForkingBroker.StartAsync();
        await broker.SendAsync(10);
        await using LivingReader reader = await LivingReader.StartAsync(broker.Address, isMember);
        await reader.HasReadAsync(9);
        SimulatedDisk save = broker.Save();
        for (int round = 0; round < 3; round++)
        {
            // Every round opens the copy as the same epoch, and each sends less than the one before.
            await broker.SendAsync(40 - (10 * round));
            await reader.HasReadAsync(broker.Acknowledged[^1].Value);
            await broker.KillAsync(putBack: save);
        }

        await broker.SendAsync(50);
        await HasAllAsync(broker, reader);

        // A member that the copy does not know begins where the copy's group stands, which is no way back.
        Assert.InRange(reader.Log.CountOf(Diverged), isMember ? 0 : 3, 3);
    }

    [Fact]
    public async Task GivenACopyThatWentOnElsewhere_WhenTheOriginalIsPutBack_ThenItsOwnMessagesAreRead()
    {
        // Both go on from 20 under epoch 2; the original has 40 more of epoch 1 before that.
        await using ForkingBroker broker = await ForkingBroker.StartAsync();
        await broker.SendAsync(20);
        SimulatedDisk early = broker.Save();
        await broker.SendAsync(40);
        SimulatedDisk original = broker.Save();
        await broker.KillAsync(putBack: early);
        await broker.SendAsync(10);
        await using LivingReader reader = await LivingReader.StartAsync(broker.Address, isMember: false);
        await reader.HasReadAsync(broker.Acknowledged[^1].Value);

        await broker.KillAsync(putBack: original);
        await HasAllAsync(broker, reader);
        Assert.Equal(70, reader.Read.Count);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenFastRestartsWithoutAMessageBetween_WhenReadingGoesOn_ThenNothingComesTwiceOrIsWarnedOf(
        bool isMember)
    {
        await using ForkingBroker broker = await ForkingBroker.StartAsync();
        await broker.SendAsync(30);
        await using LivingReader reader = await LivingReader.StartAsync(broker.Address, isMember);
        await reader.HasReadAsync(29);
        await broker.KillAsync();
        await broker.KillAsync();
        await broker.RestartAsync();
        await broker.SendAsync(10);
        await broker.KillAsync();
        await broker.RestartAsync();
        await broker.SendAsync(10);
        await HasAllAsync(broker, reader);
        Assert.Equal(50, reader.Read.Count);
        Assert.Equal(0, reader.Log.CountOf(Diverged));
    }

    [Fact]
    public async Task GivenAReaderThatShallThrow_WhenTheHistoryIsAnother_ThenItIsToldWhereAndGoesOnAfterASeek()
    {
        await using ForkingBroker broker = await ForkingBroker.StartAsync();
        await broker.SendAsync(5);
        SimulatedDisk save = broker.Save();
        await broker.SendAsync(5);
        await using LivingReader reader = await LivingReader.StartAsync(
            broker.Address, isMember: false, new ConsumerOptions { WhenDiverged = DivergedHistoryPolicy.Throw });
        await reader.HasReadAsync(9);
        await broker.KillAsync(putBack: save);
        await broker.SendAsync(10);
        for (int loop = 0; loop < 2; loop++)
        {
            DivergedHistoryException told =
                await Assert.ThrowsAsync<DivergedHistoryException>(() => reader.Reading.WaitAsync(Token));
            Assert.Equal(ErrorCode.DivergingEpoch, told.Code);
            Assert.Equal(
                (ForkingBroker.Topic, 0, 10L, 5L), (told.Topic, told.Queue, told.Offset.Value, told.Next.Value));
            if (loop == 1)
                await reader.SeekAsync(0, told.Next.Value);
            reader.Go(); // one that does not seek meets the same again
        }

        await HasAllAsync(broker, reader);
    }

    [Fact]
    public async Task GivenOldMessagesGoneBehindTheFork_WhenTheDirectoryIsPutBack_ThenReadingGoesOnAtTheBegin()
    {
        // The copy's messages are dropped by retention before the reader is back.
        await using ForkingBroker broker = await ForkingBroker.StartAsync();
        await broker.SendAsync(20);
        SimulatedDisk save = broker.Save();
        await broker.SendAsync(20);
        await using LivingReader reader = await LivingReader.StartAsync(broker.Address, isMember: true);
        await reader.HasReadAsync(39);
        await broker.StopAsync();
        await using (QueueStore store = await QueueStore.OpenAsync(
            new StoreOptions { DataDirectory = "/data", Disk = save, ReserveBytes = 0, SegmentSizeBytes = 8 << 20 },
            new KeepEverything(),
            Microsoft.Extensions.Logging.Abstractions.NullLoggerFactory.Instance,
            TimeProvider.System,
            Token))
        {
            await AppendAsync(store, 30);
            await store.MoveStartsAsync([(Assert.Single(store.Queues).Id, new QueueOffset(30))], Token);
        }

        await broker.StartOnAsync(save);
        await broker.SendAsync(1);
        await HasAllAsync(broker, reader);
        Assert.Contains(reader.Log.Texts, static line => line.Contains("up to 40") && line.Contains("at 30"));
    }

    [Fact]
    public async Task GivenAReaderThatStopsAtTheEnd_WhenThatEndIsLost_ThenItStopsAtWhatIsLeft()
    {
        await using ForkingBroker broker = await ForkingBroker.StartAsync();
        await broker.SendAsync(20);
        SimulatedDisk save = broker.Save();
        await broker.SendAsync(2_000);
        await using QueueReader reader = broker.Client.CreateReader(
            new ReaderOptions { StopAtEnd = true, FetchBytes = 4 << 10, PrefetchBytes = 0 });
        await reader.AssignAllAsync(ForkingBroker.Topic, StartPosition.Begin, Token);
        int count = 0;
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            if (count++ == 5)
                await broker.KillAsync(putBack: save);
        }

        Assert.InRange(count, 20, 2_000);
    }

    private static async Task HasAllAsync(ForkingBroker broker, LivingReader reader)
    {
        List<(int Queue, long Offset, int Value)> stored = await broker.ReadAllAsync();
        await Eventually.TrueAsync(
            () => reader.Reading.IsCompleted || stored.All(reader.Read.Contains), "every stored message was read");
        if (reader.Reading.IsCompleted)
            await reader.Reading;
        Assert.Equal(stored, reader.Read.Where(stored.Contains).Distinct());
        await Eventually.TrueAsync(async () =>
        {
            await reader.CommitAsync();
            GroupDescription group =
                await broker.Client.Admin.DescribeGroupAsync(LivingReader.Group, cancellationToken: Token);
            return group.Queues.Sum(static queue => queue.Lag) == 0
                && group.Queues.All(static queue => queue.Committed == queue.End);
        });
        Assert.All(reader.Progress, static queue => Assert.True(queue.End.Value <= queue.Next.Value));
    }

    private static async Task AppendAsync(QueueStore store, int count)
    {
        var builder = new RecordBatchBuilder();
        for (int i = 0; i < count; i++)
        {
            byte[] buffer = new byte[256];
            builder.Reset(buffer, 1_000);
            Assert.True(builder.TryAppend(new RecordContent { Body = new byte[4] }, 1_000));
            byte[] batch = buffer[..builder.Complete(ProducerSession.None, -1)];
            await store.AppendAsync(Assert.Single(store.Queues).Id, batch, Durability.Durable, Token);
        }
    }

    /// <summary>The broker's records, unread: what a snapshot holds stays.</summary>
    private sealed class KeepEverything : IStateMachine
    {
        private readonly Dictionary<(byte, string), StateEntry> _entries = [];

        public void Apply(in StateRecord record)
        {
            StateEntry entry = record.IsDeleted
                ? StateEntry.Removal(record.Kind, record.Key.ToArray())
                : new StateEntry(record.Kind, record.Key.ToArray(), record.Value.ToArray());
            _entries[(record.Kind, Convert.ToHexString(record.Key))] = entry;
        }

        public IEnumerable<StateEntry> Capture() => _entries.Values;
    }
}
