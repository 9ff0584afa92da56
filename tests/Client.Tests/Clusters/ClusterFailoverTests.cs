using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Client.Tests.Clusters;

/// <summary>A client whose cluster gets another leader: nothing is lost, doubled or reordered, and nothing waits for a
/// leader that hangs.</summary>
public sealed class ClusterFailoverTests
{
    private const string Topic = TwoBrokers.Topic;

    /// <summary>Less than any timeout that ends the wait for a leader that hangs, and more than a loaded machine
    /// takes.</summary>
    private static readonly TimeSpan Promptly = TimeSpan.FromSeconds(4);

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData((int)NodeRole.Down)]
    [InlineData((int)NodeRole.Hangs)]
    [InlineData((int)NodeRole.Refuses)]
    public async Task GivenSendersAndAGroup_WhenTheLeaderChanges_ThenNothingIsLostDoubledOrReordered(int role)
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync();
        await using EQueueClient client = cluster.NewClient();
        await using Producer producer = client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
        await using Consumer group = client.CreateConsumer("g", [Topic]);
        List<(int Number, int Queue, long Offset)> read = [];
        using var reading = CancellationTokenSource.CreateLinkedTokenSource(Token);
        var consuming = Task.Run(() => ConsumeAsync(group, read, reading.Token), Token);
        await TwoBrokers.SendAsync(producer, 0, "key");
        List<Task<SendReceipt>> sends = [];
        var underWay = new TaskCompletionSource();
        var gone = new TaskCompletionSource();
        var sending = Task.Run(
            async () =>
            {
                for (int i = 1; i < 3000; i++)
                {
                    if (i == 1000)
                        underWay.SetResult();
                    if (i == 2000)
                        await gone.Task;
                    sends.Add(TwoBrokers.SendAsync(producer, i, $"{i % 16}"));
                    if (i % 100 == 0 && i > 100)
                        await sends[i - 100];
                }
            },
            Token);
        await underWay.Task;
        await Eventually.TrueAsync(() => Count(read) > 100);
        cluster.Nodes[0].Become((NodeRole)role);
        gone.SetResult();
        await cluster.FailOverAsync(0, (NodeRole)role, 1);

        await sending;
        SendReceipt[] receipts = await Task.WhenAll(sends).WaitAsync(TimeSpan.FromSeconds(20), Token);
        await Eventually.TrueAsync(() => Count(read) == 3000);
        await reading.CancelAsync();
        await consuming;
        Assert.Equal(Enumerable.Range(0, 3000), read.Select(static one => one.Number).Order());
        for (int i = 1; i < 3000; i++)
            Assert.Contains((i, receipts[i - 1].Queue, receipts[i - 1].Offset.Value), read);
        Assert.All(
            read.GroupBy(static one => one.Number % 16),
            static key => Assert.Equal(
                key.Select(static one => one.Number).Where(static one => one > 0).Order(),
                key.Select(static one => one.Number).Where(static one => one > 0)));
        Assert.Equal(3000, (await TwoBrokers.ReadAllAsync(client)).Count);
    }

    [Fact]
    public async Task GivenASendWhoseAnswerADeposedLeaderOwes_WhenItAnswersNotLeader_ThenItIsStoredOnce()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync();
        await using EQueueClient client = cluster.NewClient();
        await using Producer producer = client.CreateProducer();
        await TwoBrokers.SendAsync(producer, 0, "key");
        cluster.Nodes[0].HoldsProduced = true;
        Task<SendReceipt>[] sends =
            Enumerable.Range(1, 20).Select(i => TwoBrokers.SendAsync(producer, i, "key")).ToArray();
        await Eventually.TrueAsync(() => cluster.Nodes[0].HeldCount > 0);

        await cluster.FailOverAsync(0, NodeRole.Refuses, 1);
        await Task.WhenAll(sends).WaitAsync(TimeSpan.FromSeconds(20), Token);
        Dictionary<int, (int Queue, long Offset)> read = await TwoBrokers.ReadAllAsync(client);
        Assert.Equal(
            Enumerable.Range(0, 21), read.OrderBy(static one => one.Value.Offset).Select(static one => one.Key));
    }

    [Fact]
    public async Task GivenASendThatADeposedLeaderRefuses_WhenTheProducerIsClosed_ThenItIsSaidThatItMayBeStored()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync();
        await using EQueueClient client = cluster.NewClient();
        await using Producer producer = client.CreateProducer();
        await TwoBrokers.SendAsync(producer, 0, "key");
        cluster.Nodes[0].HoldsProduced = true;
        Task<SendReceipt> send = TwoBrokers.SendAsync(producer, 1, "key");
        await Eventually.TrueAsync(() => cluster.Nodes[0].HeldCount > 0);
        int before = cluster.Nodes[1].HelloCount;
        cluster.Leaderless();
        await Eventually.TrueAsync(() => cluster.Nodes[1].HelloCount > before);

        await producer.CloseAsync(TimeSpan.Zero);
        Assert.True((await Assert.ThrowsAsync<ProducerClosedException>(() => send)).MayBeStored);
    }

    [Fact]
    public async Task GivenALeaderThatHangs_WhenAnotherIsTold_ThenAllLinksMoveAtOnce()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync();
        await using EQueueClient client = cluster.NewClient();
        Producer[] producers = Enumerable.Range(0, 20).Select(_ => client.CreateProducer()).ToArray();
        await using QueueReader reader = client.CreateReader();
        await reader.AssignAllAsync(Topic, StartPosition.Begin, Token);
        await Task.WhenAll(producers.Select((one, i) => TwoBrokers.SendAsync(one, i, null)));
        await Eventually.TrueAsync(() => cluster.Watches > 0);
        await cluster.FailOverAsync(0, NodeRole.Hangs, 1);

        // The keep-alive of the old leader's connections would end them after 20 s.
        await Task.WhenAll(producers.Select((one, i) => TwoBrokers.SendAsync(one, 100 + i, null)))
            .WaitAsync(Promptly, Token);
        int read = 0;
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            if (++read == 40)
                break;
        }

        Assert.Equal(cluster.Nodes[0].Address, cluster.Advertised[0]);
        Assert.Equal(1, cluster.MostWatches);
    }

    [Fact]
    public async Task GivenNoLeader_WhenAskedAndWhenOneLeadsAgain_ThenItIsSaidAndThenGoesOn()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync();
        var log = new CollectedLog();
        List<ConnectFailure> failures = [];
        await using EQueueClient client = cluster.NewClient(log: log, failed: failure =>
        {
            lock (failures)
                failures.Add(failure);
        });
        await using EQueueClient hasty = cluster.NewClient(timeoutSeconds: 1);
        await using Producer producer = client.CreateProducer();
        await TwoBrokers.SendAsync(producer, 0, null);
        await hasty.Admin.DescribeBrokerAsync(Token);
        cluster.Leaderless();
        cluster.Nodes[2].Become(NodeRole.Down);
        Task<SendReceipt>[] waiting =
            Enumerable.Range(1, 20).Select(i => TwoBrokers.SendAsync(producer, i, null)).ToArray();
        var end = new EQueueException(ErrorCode.None);
        await Eventually.TrueAsync(async () =>
        {
            end = await Assert.ThrowsAsync<EQueueException>(async () => await hasty.Admin.ReadFiguresAsync(Token));
            return end.Code == ErrorCode.Unreachable; // the first may have been under way
        });
        string nodes = string.Join(", ", cluster.Nodes.Select(static node => node.Address));
        Assert.StartsWith($"No node of the cluster at {nodes} leads now: ", end.Message, StringComparison.Ordinal);
        Assert.Contains($"{cluster.Nodes[1].Address}: This node does not lead", end.Message, StringComparison.Ordinal);
        Assert.Contains($"{cluster.Nodes[2].Address}: connection refused", end.Message, StringComparison.Ordinal);
        await Eventually.TrueAsync(() =>
        {
            lock (failures)
                return failures.Exists(one => one.Reason.StartsWith("No node of the", StringComparison.Ordinal));
        });
        Assert.All(waiting, static send => Assert.False(send.IsCompleted));

        await cluster.Broker.RestartAsync();
        await cluster.LeadAsync(1);
        await Task.WhenAll(waiting).WaitAsync(Promptly, Token);
        Assert.Equal(21, (await TwoBrokers.ReadAllAsync(client)).Count);
        string[] follows = log.Lines.Where(static one => one.Id == 5160).Select(static one => one.Text).ToArray();
        Assert.Equal($"Follows the leader {cluster.Nodes[1].Address} of epoch {cluster.Epoch}.", follows[^1]);
        Assert.Equal(2, follows.Length);
    }

    [Fact]
    public async Task GivenAnOldLeaderThatAnswersAgain_WhenReadersFindIt_ThenItIsNotBelieved()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync();
        await using EQueueClient client = cluster.NewClient();
        await using Producer producer = client.CreateProducer();
        for (int i = 0; i < 10; i++)
            await TwoBrokers.SendAsync(producer, i, "key");
        await using QueueReader reader = client.CreateReader(new ReaderOptions
        {
            WhenOutOfRange = OutOfRangePolicy.Begin,
            MaxFetchWait = TimeSpan.FromMilliseconds(200),
        });
        await reader.AssignAllAsync(Topic, StartPosition.Begin, Token);
        await using IAsyncEnumerator<ReceivedMessage> messages = reader.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        List<int> read = [];
        await ReadAsync(10);
        ulong old = (ulong)cluster.Epoch;
        await cluster.FailOverAsync(0, NodeRole.Down, 1);
        for (int i = 10; i < 20; i++)
            await TwoBrokers.SendAsync(producer, i, "key");
        await ReadAsync(20);

        // The newer leader goes; the old one still says that it leads, and that its queues are empty.
        int before = cluster.Nodes[0].HelloCount;
        cluster.Nodes[0].ClaimedEpoch = old;
        cluster.Nodes[0].Intercept = ZombieAnswers;
        cluster.Nodes[0].Become(NodeRole.Leads);
        cluster.Nodes[1].Become(NodeRole.Down);
        await Eventually.TrueAsync(() => cluster.Nodes[0].HelloCount > before + 5);
        await cluster.Broker.RestartAsync();
        await cluster.LeadAsync(2);
        for (int i = 20; i < 30; i++)
            await TwoBrokers.SendAsync(producer, i, "key");
        await ReadAsync(30);
        Assert.Equal(Enumerable.Range(0, 30), read);

        async Task ReadAsync(int count)
        {
            while (read.Count < count)
            {
                Assert.True(await messages.MoveNextAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(20), Token));
                read.Add(TwoBrokers.Number(messages.Current));
            }
        }
    }

    /// <summary>Every place is beyond the end; no queue has anything.</summary>
    private static byte[]? ZombieAnswers(byte[] request)
    {
        if ((Opcode)request[4] != Opcode.Fetch)
            return null;
        Span<byte> body = request.AsSpan(Remoting.FrameHeader.Size + (request[5] > 0 ? HistoryMark.Size : 0));
        Assert.True(Payload.TryRead(body, out FetchRequest fetch));
        byte[] answer = new byte[FetchResponseHeader.Size + (fetch.Queues.Count * FetchedQueueHeader.Size)];
        new FetchResponseHeader(1, fetch.Sequence, 0, fetch.Queues.Count).Write(answer);
        for (int i = 0; i < fetch.Queues.Count; i++)
        {
            new FetchedQueueHeader(
                fetch.Queues[i].Queue.Id, 0, ErrorCode.OffsetOutOfRange, default, default, default, -1, 0)
                .Write(answer.AsSpan(FetchResponseHeader.Size + (i * FetchedQueueHeader.Size)));
        }

        return SwitchNode.Answer(request, answer);
    }

    private static async Task ConsumeAsync(
        Consumer group, List<(int Number, int Queue, long Offset)> read, CancellationToken cancellationToken)
    {
        try
        {
            await foreach (ReceivedMessage message in group.ReadAllAsync(cancellationToken))
            {
                lock (read)
                    read.Add((TwoBrokers.Number(message), message.Queue, message.Offset.Value));
            }
        }
        catch (OperationCanceledException)
        {
            // All is read.
        }
    }

    private static int Count<T>(List<T> list)
    {
        lock (list)
            return list.Count;
    }
}
