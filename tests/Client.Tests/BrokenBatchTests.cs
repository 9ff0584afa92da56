using System.Text;
using EQueue.Protocol;
using EQueue.Support.Stores;

namespace EQueue.Client.Tests;

/// <summary>Batches that an older broker stored although no reader can read them: readers say so, or pass over
/// them.</summary>
public sealed class BrokenBatchTests
{
    private static readonly ReaderOptions Skipping = new() { StopAtEnd = true, WhenDamaged = DamagedDataPolicy.Skip };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenEveryWayOfBeingBroken_WhenItMayBeSkipped_ThenEveryReaderReadsAllTheRest()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        string[] expected = await FillAsync(broker);
        foreach (bool inBatches in new[] { false, true })
        {
            await using QueueReader reader = broker.Client.CreateReader(Skipping);
            await reader.AssignAsync("orders", 0, StartPosition.Begin, Token);
            List<string> read = [];
            await ReadAsync(reader, inBatches, read);
            Assert.Equal(expected, read);
        }

        await using (QueueReader puller = broker.Client.CreateReader(Skipping))
        {
            await puller.AssignAsync("orders", 0, StartPosition.Begin, Token);
            List<string> pulled = [];
            while (await puller.PullAsync(3, TimeSpan.FromSeconds(20), Token) is { Count: > 0 } some)
                pulled.AddRange(some.Select(static message => Text(message.Body)));
            Assert.Equal(expected, pulled);
        }

        await using Consumer consumer = broker.Client.CreateConsumer("billing", ["orders"], new ConsumerOptions
        {
            StopAtEnd = true,
            WhenDamaged = DamagedDataPolicy.Skip,
            StartAt = StartPosition.Begin,
        });
        List<string> consumed = [];
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            consumed.Add(Text(message.Body));
        Assert.Equal(expected, consumed);
    }

    [Fact]
    public async Task GivenEveryWayOfBeingBroken_WhenItMayNotBeSkipped_ThenThePlaceIsToldAndReadingGoesOnBehindIt()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        string[] expected = await FillAsync(broker);
        foreach (bool inBatches in new[] { false, true })
        {
            await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { StopAtEnd = true });
            await reader.AssignAsync("orders", 0, StartPosition.Begin, Token);
            List<string> read = [];
            List<ErrorCode> reasons = [];
            long next = 0L;
            while (true)
            {
                try
                {
                    await ReadAsync(reader, inBatches, read);
                    break;
                }
                catch (DamagedDataException damage)
                {
                    // Met again until the reader seeks.
                    DamagedDataException again = await Assert.ThrowsAsync<DamagedDataException>(
                        async () => await ReadAsync(reader, inBatches, []));
                    Assert.Equal((damage.Offset, damage.Next), (again.Offset, again.Next));
                    Assert.Equal(("orders", 0, ErrorCode.DamagedData), (damage.Topic, damage.Queue, damage.Code));
                    Assert.True(damage.Offset.Value >= next && damage.Next.Value > damage.Offset.Value);
                    reasons.Add(damage.Reason);
                    next = damage.Next.Value;
                    await reader.SeekAsync("orders", 0, StartPosition.AtOffset(next), Token);
                }
            }

            Assert.Equal(expected, read);
            Assert.Equal(BrokenBatches.Unreadable.Count + 1, reasons.Count);
            Assert.Equal(3, reasons.Count(static reason => reason == ErrorCode.UnsupportedCodec));
            Assert.All(reasons, static reason => Assert.True(
                reason is ErrorCode.UnsupportedCodec or ErrorCode.InvalidBatch or ErrorCode.MessageTooLarge));
        }
    }

    [Fact]
    public async Task GivenABatchThatIsGoodAtItsBegin_WhenRead_ThenTheGoodOnesComeAndTheOthersAreTold()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await broker.Client.Admin.CreateTopicAsync("orders", cancellationToken: Token);
        IReadOnlyList<long> offsets = await broker.StoreBelowAsync(
            "orders", 0, Token, BrokenBatches.HalfGood(), BrokenBatches.Good("after"));
        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAsync("orders", 0, StartPosition.Begin, Token);
        List<string> read = [];

        DamagedDataException damage = await Assert.ThrowsAsync<DamagedDataException>(
            async () => await ReadAsync(reader, inBatches: false, read));

        Assert.Equal(["half-0", "half-1"], read);
        Assert.Equal((2, offsets[1]), (damage.Offset.Value, damage.Next.Value));
        Assert.Contains("orders/0", damage.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(long.MinValue)]
    [InlineData(long.MaxValue)]
    [InlineData(RecordTime.EarliestMs - 1)]
    [InlineData(RecordTime.LatestMs + 1)]
    public async Task GivenAStoredTimeThatNoCalendarHas_WhenRead_ThenTheNearestIsShownAndNothingIsThrown(long time)
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await broker.Client.Admin.CreateTopicAsync("orders", cancellationToken: Token);
        await broker.StoreBelowAsync("orders", 0, Token, BrokenBatches.At(time, "odd"));
        DateTimeOffset nearest = RecordTime.ToInstant(time);
        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAsync("orders", 0, StartPosition.Begin, Token);
        int count = 0;
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            Assert.Equal(nearest, message.CreateTime);
            Assert.Equal(nearest, message.Detach().CreateTime);
            count++;
        }

        Assert.Equal(1, count);
        FoundMessages found = await broker.Client.Admin.ReadLatestAsync("orders", 5, cancellationToken: Token);
        Assert.Equal(nearest, Assert.Single(found.Messages).CreateTime);
    }

    [Fact]
    public async Task GivenEveryWayOfBeingBroken_WhenMessagesAreLookedFor_ThenTheReadableComeAndTheOthersAreCounted()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        string[] expected = await FillAsync(broker, withHuge: false);
        EQueueAdmin admin = broker.Client.Admin;
        FoundMessages found = await admin.ReadFromTimeAsync(
            "orders", DateTimeOffset.MinValue, limit: 1_000, cancellationToken: Token);
        Assert.Equal(expected, found.Messages.Select(static message => Text(message.Body)));
        TopicDescription description = await admin.DescribeTopicAsync("orders", Token);
        Assert.Equal(description.Queues[0].End.Value - expected.Length, found.UnreadableCount);
        EQueueException refusal = await Assert.ThrowsAsync<EQueueException>(
            async () => await admin.ReadMessageAsync("orders", 0, 1, Token));
        Assert.True(refusal.Code is ErrorCode.DamagedData or ErrorCode.UnsupportedCodec);
    }

    [Fact]
    public async Task GivenBatchesThatClaimMoreRecordsThanAUIntCounts_WhenItMayBeSkipped_ThenTheMessagesBetweenAreRead()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await broker.Client.Admin.CreateTopicAsync("orders", cancellationToken: Token);
        byte[] huge = BrokenBatches.Unreadable["a gzip batch that claims 2^31-1 records"];
        string[] expected = [.. Enumerable.Range(0, 5).Select(static i => $"good {i}")];
        await broker.StoreBelowAsync(
            "orders", 0, Token, [.. expected.SelectMany(body => new[] { [.. huge], BrokenBatches.Good(body) })]);
        foreach (bool inBatches in new[] { false, true })
        {
            await using QueueReader reader = broker.Client.CreateReader(Skipping);
            await reader.AssignAsync("orders", 0, StartPosition.Begin, Token);
            List<string> read = [];
            await ReadAsync(reader, inBatches, read);
            Assert.Equal(expected, read);
        }

        long end = (await broker.Client.Admin.DescribeTopicAsync("orders", Token)).Queues[0].End.Value;
        Assert.Equal((5L * int.MaxValue) + 5, end);
        Assert.Equal(
            "good 4",
            Text((await broker.Client.Admin.ReadMessageAsync("orders", 0, end - 1, Token))!.Body));
    }

    /// <summary>Good batches, and a broken one behind each.</summary>
    /// <returns>The bodies that can be read.</returns>
    private static async Task<string[]> FillAsync(TestBroker broker, bool withHuge = true)
    {
        await broker.Client.Admin.CreateTopicAsync("orders", cancellationToken: Token);
        List<byte[]> batches = [];
        List<string> readable = [];
        foreach ((string what, byte[] batch) in BrokenBatches.Unreadable)
        {
            if (!withHuge && what.Contains("claims 2^31-1 records", StringComparison.Ordinal))
                continue;
            batches.Add(BrokenBatches.Good($"before {what}"));
            batches.Add(batch);
            readable.Add($"before {what}");
        }

        batches.Add(BrokenBatches.HalfGood());
        batches.Add(BrokenBatches.Good("last"));
        readable.AddRange(["half-0", "half-1", "last"]);
        await broker.StoreBelowAsync("orders", 0, Token, [.. batches]);
        return [.. readable];
    }

    private static async Task ReadAsync(QueueReader reader, bool inBatches, List<string> read)
    {
        if (!inBatches)
        {
            await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
                read.Add(Text(message.Body));
            return;
        }

        await foreach (ReceivedBatch batch in reader.ReadBatchesAsync(Token))
        {
            foreach (RecordView record in batch)
                read.Add(Encoding.UTF8.GetString(record.Body));
        }
    }

    private static string Text(ReadOnlyMemory<byte> body) => Encoding.UTF8.GetString(body.Span);

    private static string Text(byte[]? body) => Encoding.UTF8.GetString(body!);
}
