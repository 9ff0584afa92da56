using System.Buffers.Binary;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

public sealed class FrameSenderTests
{
    private const int MaxFrameBytes = 1024 * 1024;

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task GivenFramesOfAllWays_WhenQueuedAsFastAsCanBe_ThenAllLeaveOnceAndInOrder(int seed)
    {
        const int Count = 60_000;
        (InMemoryStream near, InMemoryStream far) = InMemoryStream.CreatePair();
        using var wire = new Wire(near);
        var sender = new FrameSender(wire, 1024 * 1024, TimeProvider.System, exception => throw exception, true, new Gate());
        Task<int> reading = Task.Run(() => ReadInOrderAsync(new Wire(far), Count));
        byte[] content = Calls.Content(seed, 2048);
        var random = new Random(seed);
        for (int i = 0; i < Count; i++)
        {
            if (!sender.IsWritable) sender.Uncork();
            await sender.WhenWritable();
            if (random.Next(100) == 0) sender.Cork();
            if (random.Next(50) == 0) sender.Uncork();
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
            (InMemoryStream near, InMemoryStream far) = InMemoryStream.CreatePair();
            using var wire = new Wire(near);
            var sender = new FrameSender(wire, 1024 * 1024, TimeProvider.System, _ => { }, true, new Gate());
            for (int i = 0; i < 3; i++) sender.Enqueue(Header(1024), new byte[1024], inline: false);
            sender.Close();
            far.Abort();
            await sender.WhenIdle().WaitAsync(Calls.Timeout);
            Assert.False(sender.Enqueue(Header(1024), new byte[1024], inline: false));
        }
    }

    [Fact]
    public async Task GivenFramesThatAreHeldBack_WhenTheSenderClosesBeforeItIsUncorked_ThenTheyAreDropped()
    {
        (InMemoryStream near, InMemoryStream far) = InMemoryStream.CreatePair();
        using var wire = new Wire(near);
        var sender = new FrameSender(wire, 1024, TimeProvider.System, _ => { }, false, new Gate());
        sender.Cork();
        Assert.True(sender.IsWritable);
        for (int i = 0; i < 3; i++) sender.Hold(Header(1024), new byte[1024]);
        Assert.Equal(3 * (1024 + FrameHeader.Size), sender.QueuedBytes);
        Assert.False(sender.IsWritable);
        using var peer = new Wire(far);
        Task<int> receiving = peer.ReceiveAsync(new byte[1], CancellationToken.None).AsTask();
        sender.Close();
        sender.Uncork();
        Assert.Equal(0, sender.QueuedBytes);
        await sender.WhenIdle().WaitAsync(Calls.Timeout);
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        Assert.False(receiving.IsCompleted);
        wire.Abort();
        await Record.ExceptionAsync(() => receiving.WaitAsync(Calls.Timeout));
    }

    [Fact]
    public async Task GivenAThreadThatHasNotCorked_WhenItAsks_ThenItMayNotHoldBack()
    {
        (InMemoryStream near, InMemoryStream far) = InMemoryStream.CreatePair();
        using var wire = new Wire(near);
        var sender = new FrameSender(wire, 1024, TimeProvider.System, _ => { }, false, new Gate());
        Assert.False(sender.IsCorkedHere);
        sender.Cork();
        bool isCorkedThere = true;
        var other = new Thread(() => isCorkedThere = sender.IsCorkedHere);
        other.Start();
        other.Join();
        Assert.False(isCorkedThere);
        sender.Uncork();
        Assert.False(sender.IsCorkedHere);
        far.Abort();
        await sender.WhenIdle().WaitAsync(Calls.Timeout);
    }

    private static FrameHeader Header(int payloadBytes) =>
        FrameHeader.Of(new byte[payloadBytes], 1, 1, FrameFlags.Oneway, 0, 0);

    private static void Enqueue(FrameSender sender, byte[] content, int number, Random random)
    {
        Span<byte> payload = content.AsSpan(0, random.Next(sizeof(int), content.Length));
        BinaryPrimitives.WriteInt32LittleEndian(payload, number);
        if (sender.IsCorkedHere && random.Next(2) == 0)
        {
            sender.Hold(FrameHeader.Of(payload, 1, 1, FrameFlags.Oneway, 0, 0), payload);
            return;
        }

        bool inline = random.Next(20) == 0;
        if (random.Next(2) == 0)
        {
            Assert.True(sender.Enqueue(FrameHeader.Of(payload, 1, 1, FrameFlags.Oneway, 0, 0), payload, inline));
            return;
        }

        FrameBuffer frame = Calls.Buffer(payload);
        frame.Seal(1, 1, FrameFlags.Oneway, 0, 0);
        Assert.True(sender.Enqueue(frame, inline));
    }

    private static async Task<int> ReadInOrderAsync(Wire wire, int count)
    {
        using (wire)
        {
            using var reader = new FrameReader(new WireReader(wire, 64 * 1024), MaxFrameBytes);
            int next = 0;
            while (next < count && await reader.FillAsync())
            {
                while (reader.TryRead(out _, out ReadOnlyMemory<byte> payload))
                    Assert.Equal(next++, BinaryPrimitives.ReadInt32LittleEndian(payload.Span));
            }

            return next;
        }
    }
}
