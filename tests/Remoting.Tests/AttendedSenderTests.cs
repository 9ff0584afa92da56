using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Frames that leave by whoever is at the socket anyway.</summary>
public sealed class AttendedSenderTests : IDisposable
{
    private const int FrameBytes = 1024;
    private const int MuchBytes = 1024 * 1024;
    private const int SmallestPieceBytes = 100 * 1024;

    private readonly SenderPair _pair = new();

    private FrameSender Sender => _pair.Sender;

    public void Dispose() => _pair.Dispose();

    [Fact]
    public async Task GivenAnAttendant_WhenFramesAreQueued_ThenTheyLeaveWhenItSendsAndNotBefore()
    {
        Sender.Attend();
        Assert.False(Sender.TrySendAttended());
        Enqueue(0);
        Enqueue(1);
        Task<int> receiving = _pair.ReadAsync(2);
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        Assert.True(Sender.QueuedBytes > 0);
        Assert.False(receiving.IsCompleted);
        Assert.True(Sender.TrySendAttended());
        Assert.Equal(2, await receiving.WaitAsync(Calls.Timeout));
        Assert.False(Sender.TrySendAttended());
        await Sender.WhenIdle().WaitAsync(Calls.Timeout);
    }

    [Fact]
    public async Task GivenMoreThanAPiece_WhenTheAttendantHasSentOne_ThenTheSenderIsNotIdleBeforeTheRestIsSent()
    {
        Sender.Attend();
        for (int i = 0; i < 10; i++)
            Enqueue(i, 30_000);
        Task idle = Sender.WhenIdle();
        Assert.True(Sender.TrySendAttended());
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        Assert.False(idle.IsCompleted);
        Assert.True(Sender.TrySendAttended());
        Assert.Equal(10, await _pair.ReadAsync(10).WaitAsync(Calls.Timeout));
        await idle.WaitAsync(Calls.Timeout);
    }

    [Fact]
    public async Task GivenFramesThatWaitForTheAttendant_WhenItLeavesAndNothingFollows_ThenTheyLeaveAllTheSame()
    {
        Sender.Attend();
        Enqueue(0);
        Enqueue(1);
        Sender.Leave();
        Assert.Equal(2, await _pair.ReadAsync(2).WaitAsync(Calls.Timeout));
    }

    [Fact]
    public async Task GivenFramesThatWaitForTheAttendant_WhenItLeaves_ThenTheyLeaveByThePool()
    {
        Sender.Attend();
        Enqueue(0);
        Sender.Leave();
        Assert.False(Sender.IsAttended);
        Enqueue(1);
        Assert.Equal(2, await _pair.ReadAsync(2).WaitAsync(Calls.Timeout));
    }

    [Fact]
    public async Task GivenAWireThatIsFull_WhenTheAttendantLeavesMeanwhile_ThenWhatCameSinceFollows()
    {
        Sender.Attend();
        int queued = 0;
        while (queued < 30)
            Enqueue(queued++, 30_000);
        FillWire();
        Enqueue(queued++);
        Assert.False(Sender.TrySendAttended());
        Sender.Leave();
        Enqueue(queued++);
        Assert.Equal(queued, await _pair.ReadAsync(queued).WaitAsync(Calls.Timeout));
        await Sender.WhenIdle().WaitAsync(Calls.Timeout);
    }

    [Fact]
    public async Task GivenAWireThatIsFull_WhenItTakesTheRestWhileAttended_ThenWhatCameSinceIsTheAttendants()
    {
        Sender.Attend();
        int queued = 0;
        while (queued < 30)
            Enqueue(queued++, 30_000);
        FillWire();
        int last = queued;
        Enqueue(last, 1000);
        Task<int> receiving = _pair.ReadAsync(queued + 1);
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        Assert.True(Sender.QueuedBytes > 1000);
        await Eventually.TrueAsync(
            () => !Sender.TrySendAttended() && Sender.QueuedBytes == 0, "all is sent");
        Assert.Equal(last + 1, await receiving.WaitAsync(Calls.Timeout));
    }

    [Fact]
    public async Task GivenFramesThatWaitForTheAttendant_WhenTheSenderCloses_ThenTheyAreDroppedAndItIsIdle()
    {
        Sender.Attend();
        Enqueue(0);
        Task idle = Sender.WhenIdle();
        Assert.False(idle.IsCompleted);
        Sender.Close();
        await idle.WaitAsync(Calls.Timeout);
        Assert.Equal(0, Sender.QueuedBytes);
        Assert.False(Sender.TrySendAttended());
        Sender.Leave();
    }

    [Fact]
    public async Task GivenAnAttendantThatDoesNotLook_WhenMuchIsQueued_ThenWhoeverQueuesSendsAPiece()
    {
        Sender.Attend();
        int queued = QueueMuch(0);
        Assert.Equal((long)queued * FrameBytes, Sender.QueuedBytes);
        Task<int> reading = _pair.ReadAsync(queued + 2);
        EnqueueFrame(queued++);
        EnqueueFrame(queued++);
        await Eventually.TrueAsync(
            () => Sender.QueuedBytes <= (queued * (long)FrameBytes) - SmallestPieceBytes, "a piece is sent");
        Assert.False(reading.IsCompleted);
        await Eventually.TrueAsync(() => !Sender.TrySendAttended() && Sender.QueuedBytes == 0, "all is sent");
        Assert.Equal(queued, await reading.WaitAsync(Calls.Timeout));
        await Sender.WhenIdle().WaitAsync(Calls.Timeout);
    }

    [Fact]
    public async Task GivenAnAttendantThatLooks_WhenMuchIsQueued_ThenOnlyItSends()
    {
        Sender.Attend();
        int queued = QueueMuch(0);
        Task<int> reading = _pair.ReadAsync(2 * queued);
        Assert.True(Sender.TrySendAttended());
        await Eventually.TrueAsync(
            () => Sender.QueuedBytes <= (queued * (long)FrameBytes) - SmallestPieceBytes, "a piece is sent");
        long left = Sender.QueuedBytes;
        int more = QueueMuch(queued);
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        Assert.Equal(left + ((long)more * FrameBytes), Sender.QueuedBytes);
        Assert.False(reading.IsCompleted);
    }

    [Fact]
    public async Task GivenAnAttendantThatDoesNotLook_WhenLargeFramesAreQueued_ThenTheyWaitForIt()
    {
        const int LargeBytes = 100_000;
        Sender.Attend();
        Task<int> reading = _pair.ReadAsync(30);
        for (int i = 0; i < 30; i++)
            Enqueue(i, LargeBytes);
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        Assert.Equal(30L * (FrameHeader.Size + LargeBytes), Sender.QueuedBytes);
        Assert.False(reading.IsCompleted);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task GivenAnAttendantThatIsOftenAway_WhenManyQueueAsFastAsCanBe_ThenAllLeavesOnceAndInOrder(int seed)
    {
        const int Count = 40_000;
        using var pair = new SenderPair(maxQueuedBytes: 4 * MuchBytes);
        FrameSender sender = pair.Sender;
        using var isOver = new CancellationTokenSource();
        Task attending = BeAwayAsync(sender, seed, isOver.Token);
        Task<int> reading = pair.ReadAsync(Count);
        var queueing = new Lock();
        int next = 0;
        Task[] callers = [.. Enumerable.Range(0, 3).Select(_ => Task.Run(QueueAllAsync))];
        await Task.WhenAll(callers).WaitAsync(Calls.Timeout);
        Assert.Equal(Count, await reading.WaitAsync(Calls.Timeout));
        await isOver.CancelAsync();
        await attending.WaitAsync(Calls.Timeout);
        await sender.WhenIdle().WaitAsync(Calls.Timeout);
        Assert.Equal(0, sender.QueuedBytes);

        async Task QueueAllAsync()
        {
            byte[] payload = new byte[FrameBytes - FrameHeader.Size];
            while (true)
            {
                await sender.WhenWritable().AsTask().WaitAsync(Calls.Timeout);
                FrameSender.Queued queued;
                lock (queueing)
                {
                    if (next == Count)
                        return;
                    SenderPair.Number(payload, next++);
                    using (pair.Gate.Enter())
                        queued = sender.Queue(SenderPair.Header(payload), payload, inline: false);
                }

                sender.Follow(queued);
            }
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task GivenAttendantsThatComeAndGo_WhenFramesAreQueuedAsFastAsCanBe_ThenAllLeaveOnceAndInOrder(int seed)
    {
        const int Count = 60_000;
        using var isOver = new CancellationTokenSource();
        var attending = Task.Run(() => ComeAndGo(seed, isOver.Token));
        Task<int> reading = _pair.ReadAsync(Count);
        var random = new Random(seed);
        for (int i = 0; i < Count; i++)
        {
            await Sender.WhenWritable().AsTask().WaitAsync(Calls.Timeout);
            Enqueue(i, random.Next(sizeof(int), 2048), inline: random.Next(20) == 0);
        }

        Assert.Equal(Count, await reading.WaitAsync(Calls.Timeout));
        await isOver.CancelAsync();
        await attending.WaitAsync(Calls.Timeout);
        await Sender.WhenIdle().WaitAsync(Calls.Timeout);
        Assert.Equal(0, Sender.QueuedBytes);
    }

    /// <summary>Sends until the wire takes no more; more is queued than it takes.</summary>
    private void FillWire()
    {
        Assert.True(Sender.TrySendAttended());
        while (Sender.TrySendAttended())
        {
            // One piece after the other.
        }

        Assert.True(Sender.QueuedBytes > 0);
    }

    /// <summary>Looks rarely, and leaves more rarely.</summary>
    private static async Task BeAwayAsync(FrameSender sender, int seed, CancellationToken isOver)
    {
        var random = new Random(seed);
        while (!isOver.IsCancellationRequested)
        {
            sender.Attend();
            await Eventually.PassedAsync(TimeSpan.FromMilliseconds(random.Next(3)));
            for (int looks = random.Next(3); looks > 0; looks--)
                sender.TrySendAttended();
            if (random.Next(4) == 0)
                sender.Leave();
        }

        sender.Leave();
    }

    /// <summary>Queues one frame less than what tells that the attendant is away.</summary>
    /// <returns>How many frames.</returns>
    private int QueueMuch(int first)
    {
        const int Count = (MuchBytes / FrameBytes) - 1;
        for (int i = 0; i < Count; i++)
            EnqueueFrame(first + i);
        return Count;
    }

    private void EnqueueFrame(int number) => Enqueue(number, FrameBytes - FrameHeader.Size);

    private void ComeAndGo(int seed, CancellationToken isOver)
    {
        var random = new Random(seed);
        while (!isOver.IsCancellationRequested)
        {
            Sender.Attend();
            for (int looks = random.Next(20); looks > 0; looks--)
                Sender.TrySendAttended();
            Sender.Leave();
            if (random.Next(3) == 0)
                Thread.Yield();
        }
    }

    private void Enqueue(int number, int payloadBytes = sizeof(int), bool inline = false)
    {
        byte[] payload = new byte[payloadBytes];
        SenderPair.Number(payload, number);
        Assert.True(Sender.Enqueue(SenderPair.Header(payload), payload, inline));
    }
}
