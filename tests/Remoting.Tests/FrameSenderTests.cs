using EQueue.Support;

namespace EQueue.Remoting.Tests;

public sealed class FrameSenderTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task GivenFramesOfAllWays_WhenQueuedAsFastAsCanBe_ThenAllLeaveOnceAndInOrder(int seed)
    {
        const int Count = 60_000;
        using var pair = new SenderPair();
        FrameSender sender = pair.Sender;
        Task<int> reading = Task.Run(() => pair.ReadAsync(Count));
        byte[] content = Calls.Content(seed, 2048);
        var random = new Random(seed);
        for (int i = 0; i < Count; i++)
        {
            if (!sender.IsWritable)
                sender.Uncork();
            await sender.WhenWritable().AsTask().WaitAsync(Calls.Timeout);
            if (random.Next(100) == 0)
                sender.Cork();
            if (random.Next(50) == 0)
                sender.Uncork();
            Enqueue(sender, content, i, random);
        }

        sender.Uncork();
        Assert.Equal(Count, await reading.WaitAsync(Calls.Timeout));
        await sender.WhenIdle().WaitAsync(Calls.Timeout);
        Assert.Equal(0, sender.QueuedBytes);
    }

    [Fact]
    public async Task GivenMuchThatWaitsForThePool_WhenTheSenderCloses_ThenItBecomesIdleAndRefuses()
    {
        for (int round = 0; round < 200; round++)
        {
            using var pair = new SenderPair(mayFail: true);
            FrameSender sender = pair.Sender;
            for (int i = 0; i < 3; i++)
                sender.Enqueue(Header(1024), new byte[1024], inline: false);
            sender.Close();
            pair.Far.Abort();
            await sender.WhenIdle().WaitAsync(Calls.Timeout);
            Assert.False(sender.Enqueue(Header(1024), new byte[1024], inline: false));
        }
    }

    [Fact]
    public async Task GivenFramesThatAreHeldBack_WhenTheSenderClosesBeforeItIsUncorked_ThenTheyAreDropped()
    {
        using var pair = new SenderPair(maxQueuedBytes: 1024, mayFail: true);
        FrameSender sender = pair.Sender;
        sender.Cork();
        Assert.True(sender.IsWritable);
        for (int i = 0; i < 3; i++)
            sender.Hold(Header(1024), new byte[1024]);
        Assert.Equal(3 * (1024 + FrameHeader.Size), sender.QueuedBytes);
        Assert.False(sender.IsWritable);
        using var peer = new Wire(pair.Far);
        Task<int> receiving = peer.ReceiveAsync(new byte[1], CancellationToken.None).AsTask();
        sender.Close();
        sender.Uncork();
        Assert.Equal(0, sender.QueuedBytes);
        await sender.WhenIdle().WaitAsync(Calls.Timeout);
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        Assert.False(receiving.IsCompleted);
        pair.Wire.Abort();
        await Record.ExceptionAsync(() => receiving.WaitAsync(Calls.Timeout));
    }

    [Fact]
    public async Task GivenAThreadThatHasNotCorked_WhenItAsks_ThenItMayNotHoldBack()
    {
        using var pair = new SenderPair(maxQueuedBytes: 1024, mayFail: true);
        FrameSender sender = pair.Sender;
        Assert.False(sender.IsCorkedHere);
        sender.Cork();
        bool isCorkedThere = true;
        var other = new Thread(() => isCorkedThere = sender.IsCorkedHere);
        other.Start();
        other.Join();
        Assert.False(isCorkedThere);
        sender.Uncork();
        Assert.False(sender.IsCorkedHere);
        pair.Far.Abort();
        await sender.WhenIdle().WaitAsync(Calls.Timeout);
    }

    private static FrameHeader Header(int payloadBytes) => SenderPair.Header(new byte[payloadBytes]);

    private static void Enqueue(FrameSender sender, byte[] content, int number, Random random)
    {
        Span<byte> payload = content.AsSpan(0, random.Next(sizeof(int), content.Length));
        SenderPair.Number(payload, number);
        if (sender.IsCorkedHere && random.Next(2) == 0)
        {
            sender.Hold(SenderPair.Header(payload), payload);
            return;
        }

        bool inline = random.Next(20) == 0;
        if (random.Next(2) == 0)
        {
            Assert.True(sender.Enqueue(SenderPair.Header(payload), payload, inline));
            return;
        }

        FrameBuffer frame = Calls.Buffer(payload);
        frame.Seal(1, 1, FrameFlags.Oneway, 0, 0);
        Assert.True(sender.Enqueue(frame, inline));
    }
}
