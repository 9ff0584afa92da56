using System.Buffers.Binary;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>What a batch holds is looked at before it is acknowledged: its CRC only says that it is what was
/// sent.</summary>
public sealed class BatchContentTests : IAsyncLifetime
{
    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private QueueId _queue;

    /// <summary>Records, their count, codec.</summary>
    public static TheoryData<string, string, int, RecordCodec, ErrorCode> Broken => new()
    {
        { "random bytes", "8F3A11C05D7E22B9FE", 1, RecordCodec.None, ErrorCode.InvalidBatch },
        { "a varint without an end", "FFFFFFFFFFFFFFFFFFFF", 1, RecordCodec.None, ErrorCode.InvalidBatch },
        { "2^31-1 headers", "14000000" + "0101" + "FEFFFFFF0F", 1, RecordCodec.None, ErrorCode.InvalidBatch },
        { "a gap in the offsets", "0C000000010100" + "0C000004010100", 2, RecordCodec.None, ErrorCode.InvalidBatch },
        { "bytes behind", "0C000000010100" + "00", 1, RecordCodec.None, ErrorCode.InvalidBatch },
        { "no gzip", "8F3A11C05D7E22B9FE", 1, RecordCodec.Gzip, ErrorCode.InvalidBatch },
        { "no Snappy", "0AFF", 1, RecordCodec.Snappy, ErrorCode.InvalidBatch },
        { "no LZ4", "8F3A11C05D7E22B9FE", 1, RecordCodec.Lz4, ErrorCode.InvalidBatch },
        { "no Zstandard", "8F3A11C05D7E22B9FE", 1, RecordCodec.Zstd, ErrorCode.InvalidBatch },
        { "codec 5", "8F3A11C05D7E22B9FE", 1, (RecordCodec)5, ErrorCode.UnsupportedCodec },
        { "codec 6", "8F3A11C05D7E22B9FE", 1, (RecordCodec)6, ErrorCode.UnsupportedCodec },
        { "codec 7", "8F3A11C05D7E22B9FE", 1, (RecordCodec)7, ErrorCode.UnsupportedCodec },
    };

    public static TheoryData<RecordCodec> Codecs => [.. Enum.GetValues<RecordCodec>()];

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync();
        _peer = await _broker.ConnectAsync();
        _queue = (await _peer.CreateTopicAsync("orders")).Queues[0].Id;
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Theory]
    [MemberData(nameof(Broken))]
    public async Task GivenBrokenRecordsUnderARightCrc_WhenProduced_ThenTheBatchIsRefusedAndNothingIsWritten(
        string what, string hex, int count, RecordCodec codec, ErrorCode expected)
    {
        long staged = await _peer.FigureAsync("store.stagedPosition");
        byte[] batch = Around(Convert.FromHexString(hex), count, codec);
        Assert.Equal(ErrorCode.None, RecordBatch.Check(batch, out _));

        ErrorCode error = await ProduceAsync(_queue, batch);

        Assert.True(expected == error, $"{what}: {error}");
        Assert.Equal(staged, await _peer.FigureAsync("store.stagedPosition"));
        Assert.Equal(ErrorCode.None, await ProduceAsync(_queue, Messages.Batch("good")));
    }

    [Theory]
    [MemberData(nameof(Codecs))]
    public async Task GivenCompressedBatches_WhenProduced_ThenTheyAreStoredAsTheyCame(RecordCodec codec)
    {
        byte[] batch = Packed(codec, Messages.Batch([.. Enumerable.Range(0, 50).Select(i => $"order {i}")]));

        ProduceResult result = Assert.Single(await _peer.ProduceAsync(Durability.Written, (_queue, batch)));

        Assert.Equal((ErrorCode.None, 0L), (result.Error, result.FirstOffset.Value));
        Assert.Equal(50, (await EndsAsync(_queue)).End);
    }

    [Fact]
    public async Task GivenAGzipBatchThatClaimsTwoBillionRecords_WhenTheTopicKeepsTheNewest_ThenNothingElseGoes()
    {
        await using TestBroker broker = await TestBroker.StartAsync(TestBroker.SmallOptions() with
        {
            Topics = new TopicOptions { RetentionInterval = TimeSpan.FromMilliseconds(100) },
        });
        await using TestPeer peer = await broker.ConnectAsync();
        var settings = new TopicSettings { QueueCount = 1, RetentionCount = 1_000 };
        QueueId queue = (await peer.InvokeAsync(new CreateTopicRequest("kept", settings))).Queues[0].Id;
        await peer.ProduceAsync(queue, [.. Enumerable.Range(0, 500).Select(i => $"message {i}")]);
        byte[] batch = Packed(RecordCodec.Gzip, Messages.Batch([.. Enumerable.Repeat("x", 60)]));
        BinaryPrimitives.WriteInt32BigEndian(batch.AsSpan(RecordBatchLayout.LastOffsetDelta), int.MaxValue - 1);
        BinaryPrimitives.WriteInt32BigEndian(batch.AsSpan(RecordBatchLayout.RecordsCount), int.MaxValue);
        FixCrc(batch);

        ProduceResult result = Assert.Single(await peer.ProduceAsync(Durability.Written, (queue, batch)));

        Assert.Equal(ErrorCode.InvalidBatch, result.Error);
        for (int i = 0; i < 1_200; i += 300)
            await peer.ProduceAsync(queue, [.. Enumerable.Range(i, 300).Select(one => $"later {one}")]);
        await Eventually.TrueAsync(async () => await BeginAsync(peer, queue) == 700);
        Assert.Equal(1_700, await EndAsync(peer, queue));
        Fetched kept = await peer.FetchAsync(Messages.Open(0, Messages.From(queue, 700)));
        FetchedQueueHeader header = kept.Queues[0].Header;
        Assert.Equal((700, 1_700), (header.Start.Value, header.VisibleEnd.Value));
    }

    [Theory]
    [InlineData(long.MinValue)]
    [InlineData(long.MaxValue)]
    [InlineData(RecordTime.EarliestMs - 1)]
    [InlineData(RecordTime.LatestMs + 1)]
    public async Task GivenATimeThatNoCalendarHas_WhenProduced_ThenTheBatchIsRefused(long time)
    {
        byte[] batch = Messages.Batch("a");
        BinaryPrimitives.WriteInt64BigEndian(batch.AsSpan(RecordBatchLayout.BaseTimestamp), time);
        FixCrc(batch);
        Assert.Equal(ErrorCode.InvalidBatch, await ProduceAsync(_queue, batch));
        batch = Messages.Batch("a");
        BinaryPrimitives.WriteInt64BigEndian(batch.AsSpan(RecordBatchLayout.MaxTimestamp), time);
        FixCrc(batch);
        Assert.Equal(ErrorCode.InvalidBatch, await ProduceAsync(_queue, batch));
    }

    [Theory]
    [InlineData(RecordCodec.None)]
    [InlineData(RecordCodec.Zstd)]
    public async Task GivenTagBitsThatAreWrong_WhenAReaderAsksForATag_ThenItGetsItsMessagesAlone(RecordCodec codec)
    {
        (string?, string)[] bodies = [.. Enumerable.Repeat<(string?, string)>(("paid", "yes"), 30)];
        byte[] paid = Packed(codec, Messages.Tagged(bodies));
        byte[] other = Messages.Tagged(("shipped", "no"));
        uint wanted = TagBits.Of("paid"u8);
        foreach (uint said in new[] { 0u, TagBits.Of("shipped"u8), TagBits.Untagged, 1u << 7, wanted })
            Assert.Equal(ErrorCode.None, await ProduceAsync(_queue, paid, said));
        Assert.Equal(ErrorCode.None, await ProduceAsync(_queue, other, wanted));

        var asked = new FetchQueue(
            new QueueKey(0, _queue), new QueueOffset(0), -1, 1 << 20, wanted, new QueueOffset(-1));
        FetchedQueue fetched = Assert.Single((await _peer.FetchAsync(Messages.Open(0, asked))).Queues);

        Assert.Equal(151, fetched.Header.Next.Value);
        Assert.Equal(5 * (48 + paid.Length), fetched.Header.EntriesSize);
    }

    [Fact]
    [EffectOf("Limits:MaxDecompressedBytes")]
    public async Task GivenABoundOfDecompression_WhenABombComes_ThenItIsTooLargeAndWithoutAnyNoneIsTaken()
    {
        byte[] bomb = Packed(
            RecordCodec.Zstd, Messages.Batch(ProducerSession.None, -1, [.. Enumerable.Repeat(new byte[1 << 20], 40)]));
        Assert.InRange(bomb.Length, 0, 64 << 10);
        byte[] small = Packed(RecordCodec.Zstd, Messages.Batch([.. Enumerable.Repeat("x", 200)]));
        Assert.Equal(ErrorCode.MessageTooLarge, await ProduceAsync(_queue, bomb));
        Assert.Equal(ErrorCode.None, await ProduceAsync(_queue, small));
        foreach ((int bound, ErrorCode expectedBomb, ErrorCode expectedSmall) in new[]
        {
            (0, ErrorCode.UnsupportedCodec, ErrorCode.UnsupportedCodec),
            (500, ErrorCode.MessageTooLarge, ErrorCode.MessageTooLarge),
            (64 << 20, ErrorCode.None, ErrorCode.None),
        })
        {
            await using TestBroker broker = await TestBroker.StartAsync(TestBroker.SmallOptions() with
            {
                Limits = new LimitOptions { MaxDecompressedBytes = bound },
            });
            await using TestPeer peer = await broker.ConnectAsync();
            QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
            ProduceResult[] results = await peer.ProduceAsync(
                Durability.Written, (queue, bomb), (queue, small), (queue, Messages.Batch("plain")));
            Assert.Equal(
                [expectedBomb, expectedSmall, ErrorCode.None], results.Select(static result => result.Error));
        }
    }

    [Fact]
    public async Task GivenALargeBodyInASmallCompressedBatch_WhenTheTopicTakesLess_ThenItIsTooLarge()
    {
        await _peer.InvokeAsync(new AlterTopicRequest("orders", new TopicSettings { MaxMessageBytes = 10_000 }));
        byte[] fits = Packed(RecordCodec.Lz4, Messages.Batch(ProducerSession.None, -1, new byte[10_000]));
        byte[] tooLarge = Packed(RecordCodec.Lz4, Messages.Batch(ProducerSession.None, -1, new byte[10_001]));
        Assert.InRange(tooLarge.Length, 0, 1_000);

        Assert.Equal(ErrorCode.None, await ProduceAsync(_queue, fits));
        Assert.Equal(ErrorCode.MessageTooLarge, await ProduceAsync(_queue, tooLarge));
    }

    private static byte[] Around(byte[] records, int count, RecordCodec codec)
    {
        byte[] batch = [.. Messages.Batch("a")[..RecordBatchLayout.HeaderSize], .. records];
        BinaryPrimitives.WriteInt32BigEndian(batch.AsSpan(RecordBatchLayout.Length), batch.Length - 12);
        BinaryPrimitives.WriteInt32BigEndian(batch.AsSpan(RecordBatchLayout.LastOffsetDelta), count - 1);
        BinaryPrimitives.WriteInt32BigEndian(batch.AsSpan(RecordBatchLayout.RecordsCount), count);
        batch[RecordBatchLayout.Attributes + 1] = (byte)codec;
        FixCrc(batch);
        return batch;
    }

    private static byte[] Packed(RecordCodec codec, byte[] batch)
    {
        using var compressor = new RecordCompressor(codec);
        return batch[..compressor.Compress(batch)];
    }

    private static void FixCrc(Span<byte> batch) => BinaryPrimitives.WriteUInt32BigEndian(
        batch[RecordBatchLayout.Crc..], Crc32C.Compute(batch[RecordBatchLayout.Attributes..]));

    private static async Task<long> BeginAsync(TestPeer peer, QueueId queue) =>
        await FindAsync(peer, queue, OffsetQuestion.Begin);

    private static async Task<long> EndAsync(TestPeer peer, QueueId queue) =>
        await FindAsync(peer, queue, OffsetQuestion.End);

    private static async Task<long> FindAsync(TestPeer peer, QueueId queue, long question) =>
        (await peer.InvokeAsync(new FindOffsetsRequest(
            [new OffsetQuestion(new QueueKey(0, queue), question)]))).Answers[0].Offset.Value;

    private async Task<(long Begin, long End)> EndsAsync(QueueId queue) =>
        (await BeginAsync(_peer, queue), await EndAsync(_peer, queue));

    private async Task<ErrorCode> ProduceAsync(QueueId queue, byte[] batch, uint tagBits = TagBits.Unknown)
    {
        FrameBuffer body = Messages.Produce(
            new ProduceRequestHeader(Durability.Written, 0, 0, 1), (queue, tagBits, batch));
        return Assert.Single(Messages.ReadProduced(await _peer.SendAsync(Opcode.Produce, body))).Error;
    }
}
