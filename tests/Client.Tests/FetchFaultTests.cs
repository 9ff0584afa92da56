using System.Diagnostics;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Client.Tests;

public sealed class FetchFaultTests
{
    private const int BodyByte = 48 + RecordBatchLayout.HeaderSize + 12;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenStoredBatches_WhenReadFromTheMiddleOfOne_ThenEarlierMessagesAreLeftOut(bool isCompressed)
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(3, isCompressed);
        Assert.Equal(Enumerable.Range(14, 16), await ReadAsync(fake, from: 14));
    }

    [Fact]
    public async Task GivenBytesDamagedOnTheWay_WhenRead_ThenTheyAreFetchedAgain()
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(5);
        fake.Tamper = static (fetch, entry) => entry[BodyByte] ^= (byte)(fetch is 1 or 2 ? 1 : 0);
        Assert.Equal(Enumerable.Range(0, 50), await ReadAsync(fake));
    }

    [Fact]
    public async Task GivenBytesThatStayDamaged_WhenRead_ThenTheReaderIsToldAndCanGoOnBehindThem()
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(5);
        fake.Tamper = static (_, entry) => entry[BodyByte] ^= (byte)(IsBatch(entry, 2) ? 1 : 0);
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = await NewReaderAsync(client);
        List<int> read = [];

        DamagedDataException damage =
            await Assert.ThrowsAsync<DamagedDataException>(async () => await ReadAsync(reader, read));
        Assert.Equal(Enumerable.Range(0, 20), read);
        Assert.Equal((20, 30), (damage.Offset.Value, damage.Next.Value));

        await reader.SeekAsync("t", 0, StartPosition.AtOffset(damage.Next.Value), Token);
        await ReadAsync(reader, read);
        Assert.Equal(Enumerable.Range(0, 20).Concat(Enumerable.Range(30, 20)), read);
    }

    [Fact]
    public async Task GivenBytesThatStayDamaged_WhenTheLoopIsStartedAgainWithoutASeek_ThenItMeetsThemAgain()
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(5);
        fake.Tamper = static (_, entry) => entry[BodyByte] ^= (byte)(IsBatch(entry, 2) ? 1 : 0);
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = await NewReaderAsync(client);
        List<int> read = [];

        for (int loop = 0; loop < 3; loop++)
        {
            DamagedDataException damage =
                await Assert.ThrowsAsync<DamagedDataException>(async () => await ReadAsync(reader, read));
            Assert.Equal((20, 30), (damage.Offset.Value, damage.Next.Value));
        }

        Assert.Equal(Enumerable.Range(0, 20), read);
        Assert.Equal(20, Assert.Single(reader.GetProgress()).Next.Value);
    }

    [Theory]
    [InlineData((RecordCodec)7, ErrorCode.UnsupportedCodec)]
    [InlineData(RecordCodec.Zstd, ErrorCode.InvalidBatch)]
    [InlineData(RecordCodec.Gzip, ErrorCode.InvalidBatch)]
    public async Task GivenBatchThatCannotBeDecoded_WhenTheLoopIsStartedAgain_ThenItIsNotPassedOver(
        RecordCodec codec, ErrorCode expected)
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(5);
        fake.Tamper = (_, entry) => FakeQueue.ClaimCodec(entry, IsBatch(entry, 2) ? codec : RecordCodec.None);
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = await NewReaderAsync(client);
        List<int> read = [];

        for (int loop = 0; loop < 3; loop++)
        {
            DamagedDataException refusal =
                await Assert.ThrowsAsync<DamagedDataException>(async () => await ReadAsync(reader, read));
            Assert.Equal((expected, 20, 30), (refusal.Reason, refusal.Offset.Value, refusal.Next.Value));
        }

        Assert.Equal(Enumerable.Range(0, 20), read);
        Assert.Equal(20, Assert.Single(reader.GetProgress()).Next.Value);

        await reader.SeekAsync("t", 0, StartPosition.AtOffset(30), Token);
        await ReadAsync(reader, read);
        Assert.Equal(Enumerable.Range(0, 20).Concat(Enumerable.Range(30, 20)), read);
    }

    [Fact]
    public async Task GivenDamageOnTheBrokersDisk_WhenItMayBeSkipped_ThenTheRestIsRead()
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(5);
        fake.QueueError = static offset => offset is >= 10 and < 20 ? ErrorCode.DamagedData : ErrorCode.None;
        List<int> read = await ReadAsync(fake, options: new ReaderOptions
        {
            StopAtEnd = true,
            WhenDamaged = DamagedDataPolicy.Skip,
        });
        Assert.Equal(Enumerable.Range(0, 10).Concat(Enumerable.Range(20, 30)), read);
    }

    [Theory]
    [InlineData(ErrorCode.ConnectionLost)]
    [InlineData(ErrorCode.UnknownFetchSession)]
    [InlineData(ErrorCode.LimitReached)]
    public async Task GivenFetchesGoWrong_WhenReading_ThenNothingIsMissingAndNothingComesTwice(ErrorCode error)
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(20);
        fake.Meet = fetch => fetch is 1 or 4 or 5 or 9 ? error : ErrorCode.None;
        Assert.Equal(Enumerable.Range(0, 200), await ReadAsync(fake));
        Assert.True(fake.FetchCount > 20);
    }

    [Theory]
    [InlineData(ErrorCode.LimitReached, 6, 0, 1_000)] // 50 ms, 100 ms and so on
    [InlineData(ErrorCode.ConnectionLost, 6, 0, 700)] // the first is no reason to wait
    [InlineData(ErrorCode.LimitReached, 2, 500, 950)]
    [InlineData(ErrorCode.LimitReached, 1, 3_600_000, 1_950)] // the longest pause bounds it
    public async Task GivenFetchesThatFailInARow_WhenAskedAgain_ThenThePausesGrowAndAreAsLongAsTheBrokerAsks(
        ErrorCode error, int failures, int askedMs, int leastMs)
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(20);
        fake.RetryAfter = TimeSpan.FromMilliseconds(askedMs);
        fake.Meet = fetch => fetch < failures ? error : ErrorCode.None;
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAsync("t", 0, StartPosition.Begin, Token);
        List<int> read = [];
        long started = Stopwatch.GetTimestamp();
        await ReadAsync(reader, read);
        Assert.Equal(Enumerable.Range(0, 200), read);
        Assert.InRange(Stopwatch.GetElapsedTime(started).TotalMilliseconds, leastMs, 30_000);
    }

    [Fact]
    public async Task GivenQueuesThatAreNotReadable_WhenTheConnectionIsLost_ThenReadingGoesOnWithoutWaitingForThem()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 4);
        bool isClosed = false;
        fake.QueueError = queue => queue == 0 || Volatile.Read(ref isClosed)
            ? ErrorCode.None : ErrorCode.QueueNotReadable;
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = fake.Address,
            ReconnectBackoffMax = TimeSpan.FromHours(1), // they are asked for again after that
        });
        await using QueueReader reader = client.CreateReader();
        await reader.AssignAllAsync("t", StartPosition.Begin, Token);
        await using IAsyncEnumerator<ReceivedMessage> messages = reader.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < FakeQueue.MessagesPerBatch; i++)
            Assert.True(await messages.MoveNextAsync());
        Task<bool> next = messages.MoveNextAsync().AsTask(); // all that came is taken: each queue's error was met
        await Eventually.TrueAsync(() => fake.IsDrained);

        Volatile.Write(ref isClosed, true);
        fake.CloseAll();

        Assert.True(await next.WaitAsync(TimeSpan.FromSeconds(20), Token));
        Assert.NotEqual(0, messages.Current.Queue);
    }

    [Fact]
    public async Task GivenQueueThatIsReadAnew_WhenItsFormerCursorIsRemoved_ThenItIsReadOn()
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(2);
        await using var directory = new BrokerDirectory(new ClientOptions { Addresses = fake.Address });
        await using var stream = new MessageStream(directory, new ReaderOptions(), group: null);
        FetchSession session = stream.GetSession(ServerAddress.ParseList(fake.Address)[0]);
        var key = new QueueKey(0, new QueueId(1));
        var former = new QueueCursor("t", 0, key, new QueueOffset(0));
        stream.Add(session, former);
        await Eventually.TrueAsync(() => fake.FetchCount == 3); // the last is parked

        stream.Add(session, new QueueCursor("t", 0, key, new QueueOffset(0)));
        stream.Remove(former);

        IReadOnlyList<DetachedMessage> pulled =
            await new MessagePull(stream).PullAsync(20, Token).AsTask().WaitAsync(TimeSpan.FromSeconds(20), Token);
        Assert.Equal(0, pulled[0].Offset.Value);
    }

    [Fact]
    public async Task GivenRefusalForGood_WhenReading_ThenTheLoopEndsTyped()
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(5);
        fake.Meet = static fetch => fetch >= 2 ? ErrorCode.NotAuthorized : ErrorCode.None;
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = client.CreateReader();
        await reader.AssignAsync("t", 0, StartPosition.Begin, Token);
        List<int> read = [];

        EQueueException refusal = await Assert.ThrowsAsync<EQueueException>(async () => await ReadAsync(reader, read));

        Assert.Equal(ErrorCode.NotAuthorized, refusal.Code);
        Assert.Equal(Enumerable.Range(0, 20), read);
    }

    [Fact]
    public async Task GivenTinyPrefetch_WhenReading_ThenNoMoreThanOneAnswerIsFetchedAhead()
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(10);
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = client.CreateReader(new ReaderOptions { PrefetchBytes = 0 });
        await reader.AssignAsync("t", 0, StartPosition.Begin, Token);
        int read = 0;
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            Assert.InRange(fake.FetchCount, 1, 2 + (read / FakeQueue.MessagesPerBatch));
            if (++read == 100)
                break;
        }
    }

    [Fact]
    public async Task GivenLoopInTheMiddleOfABatch_WhenAnotherQueueIsSought_ThenTheRestOfTheBatchIsNotLost()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 2);
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync("t", StartPosition.Begin, Token);
        List<(int Queue, long Offset)> read = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            read.Add((message.Queue, message.Offset.Value));
            if (read.Count == 3)
                await reader.SeekAsync("t", 1 - message.Queue, StartPosition.AtOffset(5), Token);
        }

        int first = read[0].Queue;
        Assert.Equal(Enumerable.Range(0, 10), read.Where(one => one.Queue == first).Select(one => (int)one.Offset));
        Assert.Equal(Enumerable.Range(5, 5), read.Where(one => one.Queue != first).Select(one => (int)one.Offset));
    }

    private static bool IsBatch(byte[] entry, int number) => entry[48 + 7] == number * FakeQueue.MessagesPerBatch;

    private static async Task<QueueReader> NewReaderAsync(EQueueClient client)
    {
        QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAsync("t", 0, StartPosition.Begin, Token);
        return reader;
    }

    private static async Task<List<int>> ReadAsync(FakeQueue fake, long from = 0, ReaderOptions? options = null)
    {
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = fake.Address,
            ReconnectBackoffMax = TimeSpan.FromMilliseconds(50),
        });
        await using QueueReader reader = client.CreateReader(options ?? new ReaderOptions { StopAtEnd = true });
        await reader.AssignAsync("t", 0, StartPosition.AtOffset(from), Token);
        List<int> read = [];
        await ReadAsync(reader, read);
        return read;
    }

    private static async Task ReadAsync(QueueReader reader, List<int> read)
    {
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            read.Add(BitConverter.ToInt32(message.Body.Span));
            Assert.Equal(message.Offset.Value, read[^1]);
        }
    }
}
