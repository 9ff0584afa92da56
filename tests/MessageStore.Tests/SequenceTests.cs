using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

public sealed class SequenceTests : StoreTest
{
    [Fact]
    public async Task GivenAStoredBatch_WhenSentAgain_ThenTheAnswerIsItsFirstPlaceAndNothingIsStoredTwice()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        ProducerSession producer = await store.InitProducerAsync(ProducerSession.None, Cancel);
        AppendResult first = await SendAsync(store, queue, producer, 0, "a", "b");
        AppendResult second = await SendAsync(store, queue, producer, 2, "c");

        AppendResult again = await SendAsync(store, queue, producer, 0, "a", "b");

        Assert.Equal(first with { IsDuplicate = true }, again);
        Assert.False(second.IsDuplicate);
        Assert.Equal(2, second.FirstOffset.Value);
        Assert.Equal(2, (await ReadAllAsync(store, queue)).Count);
        Assert.Equal(1, store.Figures.DuplicateBatches);
    }

    [Fact]
    public async Task GivenAWindowOfSixteen_WhenAnOlderBatchIsSentAgain_ThenItIsNotAnsweredAsStored()
    {
        await using QueueStore store = await OpenAsync(Small with { FlushPolicy = FlushPolicy.Async });
        QueueId queue = await OpenQueueAsync(store);
        ProducerSession producer = await store.InitProducerAsync(ProducerSession.None, Cancel);
        for (int i = 0; i < 17; i++)
            await SendAsync(store, queue, producer, i, "a");

        await FailsAsync(ErrorCode.OutOfOrderSequence, SendAsync(store, queue, producer, 0, "a"));
        Assert.Equal(1, (await SendAsync(store, queue, producer, 1, "a")).FirstOffset.Value);
        Assert.Equal(17, (await ReadAllAsync(store, queue)).Count);
    }

    [Fact]
    public async Task GivenABatchThatIsStoredInPart_WhenAppending_ThenItIsOutOfOrderAndNotADuplicate()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        ProducerSession producer = await store.InitProducerAsync(ProducerSession.None, Cancel);
        await SendAsync(store, queue, producer, 0, "a", "b", "c");

        await FailsAsync(ErrorCode.OutOfOrderSequence, SendAsync(store, queue, producer, 2, "c", "d"));
        await FailsAsync(ErrorCode.OutOfOrderSequence, SendAsync(store, queue, producer, 1, "b", "c"));
        Assert.Single(await ReadAllAsync(store, queue));
    }

    [Fact]
    public void GivenWindowsOfRemovedQueues_WhenTheyAreForgotten_ThenTheOthersStay()
    {
        var queues = new QueueTable();
        queues.Open(new QueueId(7), TopicId.NewId(), 0);
        var producer = new ProducerState(1, 0);
        producer.FindOrAdd(new QueueId(8)).Add(new SequencedBatch(0, 0, 0, 10, 1));
        SequenceWindow window = producer.FindOrAdd(new QueueId(7));

        producer.ForgetRemoved(queues);

        Assert.Same(window, producer.Find(new QueueId(7)));
        Assert.Null(producer.Find(new QueueId(8)));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(5)]
    public async Task GivenAGap_WhenAppending_ThenOutOfOrderAndNothingIsStored(int sequence)
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        ProducerSession producer = await store.InitProducerAsync(ProducerSession.None, Cancel);

        await FailsAsync(ErrorCode.OutOfOrderSequence, SendAsync(store, queue, producer, sequence, "a"));
        await SendAsync(store, queue, producer, 0, "a");
        await FailsAsync(ErrorCode.OutOfOrderSequence, SendAsync(store, queue, producer, sequence + 1, "a"));
        Assert.Single(await ReadAllAsync(store, queue));
    }

    [Fact]
    public async Task GivenAQueueThatTakesNoMessages_WhenAppending_ThenOnlyWhatIsStoredIsAnswered()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        QueueId other = await OpenQueueAsync(store);
        ProducerSession old = await store.InitProducerAsync(ProducerSession.None, Cancel);
        ProducerSession producer = await store.InitProducerAsync(ProducerSession.None, Cancel);
        AppendResult first = await SendAsync(store, queue, producer, 0, "a");
        await store.InitProducerAsync(old, Cancel);
        store.SetWritable([queue, new QueueId(999)], false);

        Assert.Equal(first with { IsDuplicate = true }, await SendAsync(store, queue, producer, 0, "a"));
        await FailsAsync(ErrorCode.QueueNotWritable, SendAsync(store, queue, producer, 1, "b"));
        await FailsAsync(ErrorCode.QueueNotWritable, SendAsync(store, queue, producer, 2, "c"));
        await FailsAsync(ErrorCode.QueueNotWritable, SendAsync(store, queue, ProducerSession.None, -1, "c"));
        await FailsAsync(ErrorCode.ProducerFenced, SendAsync(store, queue, old, 0, "a"));
        await SendAsync(store, other, producer, 0, "a");
        store.SetWritable([queue], true);
        Assert.Equal(1, (await SendAsync(store, queue, producer, 1, "b")).FirstOffset.Value);
    }

    [Fact]
    public async Task GivenANewerEpoch_WhenTheOlderSends_ThenItIsFencedAndTheNewerStartsAtZero()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        ProducerSession old = await store.InitProducerAsync(ProducerSession.None, Cancel);
        await SendAsync(store, queue, old, 0, "a");

        ProducerSession newer = await store.InitProducerAsync(old, Cancel);

        Assert.Equal(old with { Epoch = 1 }, newer);
        await FailsAsync(ErrorCode.ProducerFenced, SendAsync(store, queue, old, 1, "b"));
        await FailsAsync(ErrorCode.OutOfOrderSequence, SendAsync(store, queue, newer, 1, "b"));
        Assert.Equal(1, (await SendAsync(store, queue, newer, 0, "b")).FirstOffset.Value);
        await FailsAsync(ErrorCode.ProducerFenced, store.InitProducerAsync(old, Cancel).AsTask());
    }

    [Fact]
    public async Task GivenAnUnknownProducer_WhenItSends_ThenItIsToldSo()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);

        await FailsAsync(ErrorCode.UnknownProducer, SendAsync(store, queue, new ProducerSession(99, 0), 0, "a"));
        ProducerSession producer = await store.InitProducerAsync(ProducerSession.None, Cancel);
        await FailsAsync(ErrorCode.UnknownProducer, SendAsync(store, queue, producer with { Epoch = 7 }, 0, "a"));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenAReopenedStore_WhenABatchIsSentAgain_ThenItIsStillADuplicateAndIdsGoOn(bool isManySegments)
    {
        int segmentSize = isManySegments ? 64 << 10 : 1 << 20;
        StoreOptions options = Small with { SegmentSizeBytes = segmentSize, MaxBatchBytes = 20 << 10 };
        QueueId queue;
        ProducerSession producer;
        AppendResult last;
        await using (QueueStore store = await OpenAsync(options))
        {
            queue = await OpenQueueAsync(store);
            producer = await store.InitProducerAsync(ProducerSession.None, Cancel);
            last = await SendAsync(store, queue, producer, 0, new string('x', 8000));
            for (int i = 1; i < 20; i++)
                last = await SendAsync(store, queue, producer, i, new string('x', 8000));
        }

        State = new MemoryState();
        await using QueueStore again = await OpenAsync(options);
        AppendResult duplicate = await SendAsync(again, queue, producer, 19, new string('x', 8000));
        Assert.True(duplicate.IsDuplicate);
        Assert.Equal(last.FirstOffset, duplicate.FirstOffset);
        Assert.False((await SendAsync(again, queue, producer, 20, "next")).IsDuplicate);
        Assert.NotEqual(producer.Id, (await again.InitProducerAsync(ProducerSession.None, Cancel)).Id);
    }

    [Fact]
    public async Task GivenADuplicateInTheSameRequest_WhenAppending_ThenTheSecondIsTheFirst()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        ProducerSession producer = await store.InitProducerAsync(ProducerSession.None, Cancel);
        byte[] batch = TestBatch.Of(producer, 0, "a");
        var items = new AppendItem[]
        {
            new() { Queue = queue, Batch = batch },
            new() { Queue = queue, Batch = batch },
            new() { Queue = queue, Batch = TestBatch.Of(producer, 1, "b") },
            new() { Queue = queue, Batch = TestBatch.Of(producer, 9, "c") },
        };
        var waiter = new TestWaiter();

        Assert.Equal(AppendStatus.Accepted, store.Append(items, Durability.Policy, waiter));
        await waiter.Task;

        Assert.Equal(
            [ErrorCode.None, ErrorCode.DuplicateSequence, ErrorCode.None, ErrorCode.OutOfOrderSequence],
            items.Select(item => item.Error));
        Assert.Equal([0, 0, 1], items.Take(3).Select(item => item.FirstOffset.Value));
        Assert.Equal(1, waiter.Calls);
    }

    [Fact]
    public async Task GivenADuplicateWhoseOriginalIsNotDurable_WhenSentAgain_ThenTheAnswerWaitsForTheOriginal()
    {
        using var gate = new Gate();
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        ProducerSession producer = await store.InitProducerAsync(ProducerSession.None, Cancel);
        Disk.OnSync = _ => gate.Pass();
        gate.Shut();
        Task<AppendResult> original = SendAsync(store, queue, producer, 0, "a");
        await gate.Reached.WaitAsync(Cancel);

        Task<AppendResult> duplicate = SendAsync(store, queue, producer, 0, "a");
        await Eventually(() => store.Figures.DuplicateBatches == 1);
        Assert.False(duplicate.IsCompleted);
        Assert.False(original.IsCompleted);

        gate.Open();
        Assert.Equal((await original).FirstOffset, (await duplicate).FirstOffset);
        Assert.True((await SendAsync(store, queue, producer, 0, "a")).IsDuplicate);
    }

    [Fact]
    public async Task GivenTheLimitOfProducers_WhenOneMoreComes_ThenTheLongestSilentIsForgotten()
    {
        Time = new ManualTime(1_000);
        await using QueueStore store = await OpenAsync(Small with { MaxProducers = 3 });
        QueueId queue = await OpenQueueAsync(store);
        var producers = new List<ProducerSession>();
        for (int i = 0; i < 4; i++)
        {
            ((ManualTime)Time).UnixMs += 10;
            producers.Add(await store.InitProducerAsync(ProducerSession.None, Cancel));
            if (i == 2)
            {
                ((ManualTime)Time).UnixMs += 10;
                await SendAsync(store, queue, producers[0], 0, "a");
            }
        }

        Assert.Equal(4, producers.Select(producer => producer.Id).Distinct().Count());
        await SendAsync(store, queue, producers[0], 1, "b");
        await FailsAsync(ErrorCode.UnknownProducer, SendAsync(store, queue, producers[1], 0, "c"));
        await SendAsync(store, queue, producers[3], 0, "d");
    }

    [Fact]
    public async Task GivenTheMemoryOfProducers_WhenOneSendsToMoreQueues_ThenItBeginsAnewAndTheLongestSilentIsForgotten()
    {
        Time = new ManualTime(1_000);
        await using QueueStore store = await OpenAsync(Small with { MaxProducerBytes = 64 << 10 });
        var queues = new List<QueueId>();
        for (int i = 0; i < 100; i++)
            queues.Add(await OpenQueueAsync(store));
        ProducerSession silent = await store.InitProducerAsync(ProducerSession.None, Cancel);
        for (int i = 0; i < 50; i++)
            await SendAsync(store, queues[i], silent, 0, "a");
        ((ManualTime)Time).UnixMs += 10;
        ProducerSession busy = await store.InitProducerAsync(ProducerSession.None, Cancel);
        int sent = 0;
        Exception? refusal = null;
        while (refusal is null && sent < 100)
        {
            refusal = await Record.ExceptionAsync(() => SendAsync(store, queues[sent], busy, 0, "b"));
            sent += refusal is null ? 1 : 0;
        }

        Assert.InRange(sent, 20, 40);
        Assert.InRange(store.ProducerBytes, 60_000, 64 << 10);
        await FailsAsync(ErrorCode.UnknownProducer, SendAsync(store, queues[99], busy, 0, "c"));
        await SendAsync(store, queues[0], busy, 1, "in a queue that it has");
        ((ManualTime)Time).UnixMs += 10;
        ProducerSession again = await store.InitProducerAsync(busy, Cancel);
        for (int i = 0; i < 60; i++)
            await SendAsync(store, queues[i], again, 0, "d");
        await FailsAsync(ErrorCode.UnknownProducer, SendAsync(store, queues[0], silent, 1, "e"));
        Assert.InRange(store.ProducerBytes, 50_000, 60_000);
    }

    [Fact]
    public void GivenTheLastSequence_WhenTheNextBatchFollows_ThenSequencesStartOverAtZero()
    {
        var window = new SequenceWindow();
        window.Add(new SequencedBatch(int.MaxValue - 1, int.MaxValue, 10, 100, 0));
        Assert.Equal(0, window.NextSequence);
        window.Add(new SequencedBatch(0, 4, 12, 200, 0));
        Assert.Equal(5, window.NextSequence);
        Assert.True(window.TryFind(int.MaxValue - 1, int.MaxValue, out SequencedBatch found));
        Assert.Equal(10, found.FirstOffset);
        Assert.Equal(1, SequenceWindow.Follow(int.MaxValue, 2));

        var table = new ProducerTable();
        var session = new ProducerSession(1, 0);
        table.SetEpoch(session);
        var queue = new QueueId(1);
        table.Stored(session, queue, int.MaxValue, 3, crc: 77, 0, 100, 0);
        Assert.Equal(ErrorCode.None, table.Check(session, queue, 2, 1, 5, out _));
        Assert.Equal(ErrorCode.DuplicateSequence, table.Check(session, queue, int.MaxValue, 3, 77, out _));
        Assert.Equal(ErrorCode.OutOfOrderSequence, table.Check(session, queue, int.MaxValue, 3, 78, out _));
        Assert.Equal(ErrorCode.OutOfOrderSequence, table.Check(session, queue, 3, 1, 77, out _));
        Assert.Equal(ErrorCode.InvalidBatch, table.Check(session, queue, -1, 1, 77, out _));
    }

    [Fact]
    public async Task GivenManyProducers_WhenTheyGetTheirIds_ThenNoneCanBeGuessedFromAnother()
    {
        await using QueueStore store = await OpenAsync(Small with { FlushPolicy = FlushPolicy.Async });
        List<long> ids = [];
        for (int i = 0; i < 100; i++)
            ids.Add((await store.InitProducerAsync(ProducerSession.None, Cancel)).Id);

        Assert.All(ids, id => Assert.True(id >= 0));
        Assert.Equal(100, ids.Distinct().Count());
        // Of random 63 bits about a half is set in each; ids in a row share their upper ones.
        Assert.All(Enumerable.Range(0, 63), bit => Assert.InRange(ids.Count(id => (id >> bit & 1) == 1), 10, 90));
    }

    [Theory]
    [InlineData("live")]
    [InlineData("from a snapshot")]
    [InlineData("from the log")]
    public async Task GivenSequencesThatOtherBytesHaveTaken_WhenTheirOwnerSends_ThenItIsNotAnsweredAsStored(string how)
    {
        QueueId queue;
        ProducerSession victim;
        QueueStore store = await OpenAsync();
        try
        {
            queue = await OpenQueueAsync(store);
            victim = await store.InitProducerAsync(ProducerSession.None, Cancel);
            await SendAsync(store, queue, victim, 0, "mine 0");
            await SendAsync(store, queue, victim, 1, "another's");
            if (how != "live")
            {
                await store.DisposeAsync();
                string[] snapshots = how == "from the log"
                    ? Directory.GetFiles(Folder, "*.state", SearchOption.AllDirectories) : [];
                foreach (string snapshot in snapshots)
                    File.Delete(snapshot);
                State = new MemoryState();
                store = await OpenAsync();
            }

            Assert.True((await SendAsync(store, queue, victim, 0, "mine 0")).IsDuplicate);
            await FailsAsync(ErrorCode.OutOfOrderSequence, SendAsync(store, queue, victim, 1, "mine 1"));
            ProducerSession next = await store.InitProducerAsync(victim, Cancel);
            AppendResult stored = await SendAsync(store, queue, next, 0, "mine 1");
            Assert.Equal((2, false), (stored.FirstOffset.Value, stored.IsDuplicate));
        }
        finally
        {
            await store.DisposeAsync();
        }
    }

    private static async Task<AppendResult> SendAsync(
        QueueStore store, QueueId queue, ProducerSession producer, int sequence, params string[] bodies) =>
        await store.AppendAsync(queue, TestBatch.Of(producer, sequence, bodies), Durability.Policy, Cancel);
}
