using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Random and mutated batches under right CRCs: what the broker lets in every reader reads in full, and what
/// it would not let in, once it is stored all the same, stops none that may pass over it. EQUEUE_BATCH_INPUTS sets how
/// many (10,000), EQUEUE_BATCH_SEED the first seed (1).</summary>
public sealed class BatchStormTests
{
    private const int BatchesPerRequest = 100;

    private static readonly int Inputs = LongRun.Length("EQUEUE_BATCH_INPUTS", 10_000, 200_000);
    private static readonly int Seed = LongRun.Setting("EQUEUE_BATCH_SEED", 1);

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenRandomBatches_WhenProduced_ThenWhatIsAcknowledgedIsReadInFullByEveryReader()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await broker.Client.Admin.CreateTopicAsync("storm", cancellationToken: Token);
        await using var link = new BrokerLink(
            ServerAddress.ParseList(broker.Address)[0],
            new ClientOptions(),
            Guid.NewGuid(),
            new ConnectReports(new ClientOptions()));
        RouteResponse route = await link.InvokeAsync(
            new RouteRequest(["storm"], AutoCreate: false), TimeSpan.FromSeconds(20), Token);
        QueueId queue = route.Topics[0].Queues[0].Id;
        long messages = 0;
        int accepted = 0;
        using var maker = new BatchMaker();
        for (int first = 0; first < Inputs / 2; first += BatchesPerRequest)
        {
            (byte[] Batch, bool IsGood)[] batches =
                [.. Enumerable.Range(Seed + first, BatchesPerRequest).Select(maker.Make)];
            ErrorCode[] errors = await ProduceAsync(link, queue, batches.Select(static one => one.Batch));
            for (int i = 0; i < batches.Length; i++)
            {
                string what = $"seed {Seed + first + i}: {errors[i]}";
                Assert.True(!batches[i].IsGood || errors[i] == ErrorCode.None, what);
                Assert.True(
                    errors[i] is ErrorCode.None or ErrorCode.InvalidBatch or ErrorCode.UnsupportedCodec
                        or ErrorCode.MessageTooLarge,
                    what);
                if (errors[i] != ErrorCode.None)
                    continue;
                accepted++;
                Assert.True(RecordBatch.TryReadHeader(batches[i].Batch, out RecordBatchHeader header, out _));
                messages += header.RecordsCount;
            }
        }

        Assert.InRange(accepted, Inputs / 8, Inputs / 2);
        var strict = new ReaderOptions { StopAtEnd = true };
        Assert.Equal(messages, await CountAsync(broker, strict, inBatches: false));
        Assert.Equal(messages, await CountAsync(broker, strict, inBatches: true));
        Assert.Equal(messages, await ConsumeAsync(broker, new ConsumerOptions { StopAtEnd = true }));
        TopicDescription described = await broker.Client.Admin.DescribeTopicAsync("storm", Token);
        Assert.Equal(messages, described.Queues[0].End.Value);
    }

    [Fact]
    public async Task GivenRandomBatchesThatWereStoredUnseen_WhenReadersMayPassOver_ThenAllThatCanBeReadIsRead()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await broker.Client.Admin.CreateTopicAsync("storm", cancellationToken: Token);
        using var maker = new BatchMaker();
        List<byte[]> batches = [];
        long readable = 0;
        for (int i = 0; i < Inputs / 2; i++)
        {
            (byte[] batch, bool _) = maker.Make(Seed + i);
            if (!RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _)
                || header.TotalSize != batch.Length)
            {
                continue;
            }

            batches.Add(batch);
            readable += ReadableIn(batch);
        }

        Assert.InRange(batches.Count, Inputs / 4, Inputs / 2);
        await broker.StoreBelowAsync("storm", 0, Token, [.. batches]);

        var skipping = new ReaderOptions { StopAtEnd = true, WhenDamaged = DamagedDataPolicy.Skip };
        Assert.Equal(readable, await CountAsync(broker, skipping, inBatches: false));
        Assert.Equal(readable, await CountAsync(broker, skipping, inBatches: true));
        Assert.Equal(readable, await ConsumeAsync(
            broker, new ConsumerOptions { StopAtEnd = true, WhenDamaged = DamagedDataPolicy.Skip }));
    }

    /// <summary>What a reader finds: the records up to the first that is none.</summary>
    private static long ReadableIn(byte[] batch)
    {
        if (RecordBatch.Decompress(batch, new ClientOptions().MaxFrameBytes, out ReadOnlyMemory<byte> plain)
            != ErrorCode.None)
        {
            return 0;
        }

        int count = 0;
        var records = new RecordReader(plain.Span);
        while (records.TryRead(out _))
            count++;
        return count;
    }

    private static async Task<long> CountAsync(TestBroker broker, ReaderOptions options, bool inBatches)
    {
        await using QueueReader reader = broker.Client.CreateReader(options);
        await reader.AssignAsync("storm", 0, StartPosition.Begin, Token);
        long count = 0L;
        if (!inBatches)
        {
            await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
                count += Touch(message);
            return count;
        }

        await foreach (ReceivedBatch batch in reader.ReadBatchesAsync(Token))
        {
            foreach (RecordView record in batch)
                count += record.Offset.Value >= batch.FirstOffset.Value ? 1 : 0;
        }

        return count;
    }

    private static async Task<long> ConsumeAsync(TestBroker broker, ConsumerOptions options)
    {
        await using Consumer consumer = broker.Client.CreateConsumer(
            "storm-group", ["storm"], options with { StartAt = StartPosition.Begin });
        long count = 0L;
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            count += Touch(message);
        return count;
    }

    /// <summary>Everything that a message can be asked for.</summary>
    private static int Touch(ReceivedMessage message)
    {
        DetachedMessage copy = message.Detach();
        Assert.Equal(message.CreateTime, copy.CreateTime);
        Assert.Equal(message.Body.Length, copy.Body?.Length ?? 0);
        message.TryGetTraceContext(out _);
        return 1;
    }

    private static async Task<ErrorCode[]> ProduceAsync(BrokerLink link, QueueId queue, IEnumerable<byte[]> batches)
    {
        byte[][] all = [.. batches];
        var frame = FrameBuffer.Rent();
        new ProduceRequestHeader(Durability.Written, 0, 0, all.Length).Write(frame.Reserve(ProduceRequestHeader.Size));
        foreach (byte[] batch in all)
        {
            new ProduceBatchHeader(queue, 0, -1, TagBits.Untagged, batch.Length)
                .Write(frame.Reserve(ProduceBatchHeader.Size));
            batch.CopyTo(frame.Reserve(batch.Length));
        }

        using ResponseFrame answer = await link.Remoting.InvokeAsync(
            frame, (byte)Opcode.Produce, 0, TimeSpan.FromSeconds(60), Token);
        Assert.Equal(0, answer.Header.Error);
        return
        [
            .. Enumerable.Range(0, all.Length).Select(i => ProduceResult.Read(
                answer.PayloadSpan[(ProduceResponse.HeaderSize + (i * ProduceResult.Size))..]).Error),
        ];
    }
}
