using System.Buffers;
using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

public sealed class AppendAndReadTests : StoreTest
{
    [Theory]
    [InlineData(FlushPolicy.Sync)]
    [InlineData(FlushPolicy.Async)]
    public async Task GivenBatchesOfTwoQueues_WhenRead_ThenEachQueueGivesItsOwnInOrder(FlushPolicy policy)
    {
        await using QueueStore store = await OpenAsync(Small with { FlushPolicy = policy });
        QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [], Cancel);
        for (int i = 0; i < 50; i++)
        {
            Assert.Equal(2 * i, await AppendAsync(store, queues[0], $"a{i}", $"b{i}"));
            Assert.Equal(i, await AppendAsync(store, queues[1], $"c{i}"));
        }

        string[] first = (await ReadAllAsync(store, queues[0])).SelectMany(entry => entry.Bodies).ToArray();
        List<TestBatch.Entry> oneByOne = await ReadAllAsync(store, queues[1], maxBytes: 1);
        string[] second = oneByOne.SelectMany(entry => entry.Bodies).ToArray();

        Assert.Equal(Enumerable.Range(0, 50).SelectMany(i => new[] { $"a{i}", $"b{i}" }), first);
        Assert.Equal(Enumerable.Range(0, 50).Select(i => $"c{i}"), second);
    }

    [Fact]
    public async Task GivenALoadOverManySegmentsAndRings_WhenReadFromTheBegin_ThenEveryByteComesBack()
    {
        StoreOptions options =
            Small with { FlushPolicy = FlushPolicy.Async, SegmentSizeBytes = 128 << 10, MaxBatchBytes = 60 << 10 };
        await using QueueStore store = await OpenAsync(options);
        QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 3, [], Cancel);
        var random = new Random(7);
        var sent = new List<byte[]>[] { [], [], [] };
        for (int i = 0; i < 600; i++)
        {
            int which = random.Next(3);
            byte[] batch = TestBatch.OfSize(random.Next(0, random.Next(10) == 0 ? 60_000 : 3_000), i);
            AppendResult result = await store.AppendAsync(queues[which], batch, Durability.Policy, Cancel);
            Assert.Equal(sent[which].Count, result.FirstOffset.Value);
            sent[which].Add(batch);
        }

        for (int which = 0; which < 3; which++)
        {
            List<TestBatch.Entry> read = await ReadAllAsync(store, queues[which]);
            Assert.Equal(sent[which].Count, read.Count);
            for (int i = 0; i < read.Count; i++)
            {
                const int Same = RecordBatchLayout.Magic;
                Assert.Equal(sent[which][i].AsSpan(Same), read[i].Batch.AsSpan(Same));
            }
        }
        Assert.True(store.Figures.Segments > 5);
        Assert.True(store.Figures.DiskReads > 0);
    }
}
