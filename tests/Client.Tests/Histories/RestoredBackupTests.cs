using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Client.Tests.Histories;

/// <summary>Real directories: a backup made beside a running broker is restored under a consumer that lives on.
/// </summary>
public sealed class RestoredBackupTests
{
    private const int Diverged = 5140;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenABackupRestoredUnderAConsumer_WhenNewMessagesFollow_ThenItReadsAllOfThem(bool isMember)
    {
        using var folder = new TempDirectory();
        await using TestBroker broker = await TestBroker.StartAsync(FlushPolicy.Sync, queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        await SendAsync(producer, 0, 100);
        await using LivingReader reader = await LivingReader.StartAsync(broker.Address, isMember);
        await reader.HasReadAsync(99);
        StoreBackup.Write(
            new BackupOptions { DataDirectory = broker.DataDirectory, BackupDirectory = folder["backup"] }, Token);
        await SendAsync(producer, 100, 100);
        await reader.HasReadAsync(199);

        await broker.StopAsync();
        Directory.Delete(broker.DataDirectory, recursive: true);
        StoreBackup.Restore(folder["backup"], broker.DataDirectory, null, Token);
        await broker.StartBrokerAsync();
        await SendAsync(producer, 200, 150);

        await reader.HasReadAsync(349);
        Assert.Equal(1, reader.Log.CountOf(Diverged));
        Assert.Equal(Enumerable.Range(0, 350), reader.Read.Select(static one => one.Value));
        Assert.Equal((0, 249L, 349), reader.Read.Last());
    }

    [Fact]
    public async Task GivenPlacesOfAnotherOpening_WhenTheyAreFetchedOrCommitted_ThenTheBrokerRefusesThem()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        await SendAsync(producer, 0, 3);
        TopicDescription route = await broker.Client.Admin.DescribeTopicAsync(ForkingBroker.Topic, Token);
        var key = new QueueKey(0, route.Queues[0].Id);
        await using BrokerLink link = QueueSender.LinkTo(broker.Address, readsHistory: true);
        await link.ConnectAsync(TimeSpan.FromSeconds(20), Token);
        LogHistory history = link.History!;
        var commit = new CommitOffsetsRequest(
            "g", Guid.Empty, [new OffsetCommit(key, GroupGeneration.None, new QueueOffset(2), -1, null)]);
        HistoryMark other = history.Opening with { Mark = ~history.Opening.Mark };

        EQueueException refusal = await Assert.ThrowsAsync<EQueueException>(
            async () => await link.InvokeAsync(commit, TimeSpan.FromSeconds(20), Token, other));
        Assert.Equal(ErrorCode.DivergingEpoch, refusal.Code);
        refusal = await Assert.ThrowsAsync<EQueueException>(async () => (await link.SendAsync(
            Opcode.Fetch, new FetchRequest(), TimeSpan.FromSeconds(20), Token, other)).Dispose());
        Assert.Equal(ErrorCode.DivergingEpoch, refusal.Code);
        Assert.Equal(-1, (await broker.Client.Admin.ReadGroupOffsetsAsync("g", ForkingBroker.Topic, Token))[0].Value);

        CommitOffsetsResponse stored = await link.InvokeAsync(commit, TimeSpan.FromSeconds(20), Token, history.Opening);
        Assert.Equal([ErrorCode.None], stored.Errors);
        var known = new LogHistory([new HistoryEpoch(other, history.Epochs[^1].Start)]);
        CheckHistoryResponse judged = await link.InvokeAsync(
            new CheckHistoryRequest(known, [new HistoryPlace(key, new QueueOffset(3)), new HistoryPlace(key, default)]),
            TimeSpan.FromSeconds(20),
            Token);
        Assert.Equal([new QueueOffset(0), CheckHistoryResponse.Fits], judged.Forks);
        Assert.Equal(history.Epochs, judged.History.Epochs);
    }

    private static async Task SendAsync(Producer producer, int first, int count)
    {
        for (int value = first; value < first + count; value++)
            await producer.SendAsync(ForkingBroker.Topic, BitConverter.GetBytes(value), cancellationToken: Token);
    }
}
