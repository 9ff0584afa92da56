using System.Buffers.Binary;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Frames that leave by whoever is at the socket anyway.</summary>
public sealed class AttendedSenderTests
{
    private const int MaxQueuedBytes = 1024 * 1024;

    [Fact]
    public async Task GivenAnAttendant_WhenFramesAreQueued_ThenTheyLeaveWhenItSendsAndNotBefore()
    {
        (FrameSender sender, FrameReader peer, Wire wire) = Pair();
        using Wire owned = wire;
        sender.Attend();
        Assert.False(sender.TrySendAttended());
        Enqueue(sender, 0);
        Enqueue(sender, 1);
        Task<int> receiving = ReadAsync(peer, 2);
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        Assert.True(sender.QueuedBytes > 0);
        Assert.False(receiving.IsCompleted);
        Assert.True(sender.TrySendAttended());
        Assert.Equal(2, await receiving.WaitAsync(Calls.Timeout));
        Assert.False(sender.TrySendAttended());
        await sender.WhenIdle().WaitAsync(Calls.Timeout);
    }

    [Fact]
    public async Task GivenMoreThanAPiece_WhenTheAttendantHasSentOne_ThenTheSenderIsNotIdleBeforeTheRestIsSent()
    {
        (FrameSender sender, FrameReader peer, Wire wire) = Pair();
        using Wire owned = wire;
        sender.Attend();
        for (int i = 0; i < 10; i++) Enqueue(sender, i, 30_000);
        Task idle = sender.WhenIdle();
        Assert.True(sender.TrySendAttended());
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        Assert.False(idle.IsCompleted);
        Assert.True(sender.TrySendAttended());
        Assert.Equal(10, await ReadAsync(peer, 10).WaitAsync(Calls.Timeout));
        await idle.WaitAsync(Calls.Timeout);
    }

    [Fact]
    public async Task GivenFramesThatWaitForTheAttendant_WhenItLeaves_ThenTheyLeaveByThePool()
    {
        (FrameSender sender, FrameReader peer, Wire wire) = Pair();
        using Wire owned = wire;
        sender.Attend();
        Enqueue(sender, 0);
        sender.Leave();
        Assert.False(sender.IsAttended);
        Enqueue(sender, 1);
        Assert.Equal(2, await ReadAsync(peer, 2).WaitAsync(Calls.Timeout));
    }

    [Fact]
    public async Task GivenAWireThatIsFull_WhenTheAttendantLeavesMeanwhile_ThenWhatCameSinceFollows()
    {
        (FrameSender sender, FrameReader peer, Wire wire) = Pair();
        using Wire owned = wire;
        sender.Attend();
        int queued = 0;
        while (queued < 40) Enqueue(sender, queued++, 30_000);
        FillWire(sender);
        Enqueue(sender, queued++);
        Assert.False(sender.TrySendAttended());
        sender.Leave();
        Enqueue(sender, queued++);
        Assert.Equal(queued, await ReadAsync(peer, queued).WaitAsync(Calls.Timeout));
        await sender.WhenIdle().WaitAsync(Calls.Timeout);
    }

    [Fact]
    public async Task GivenAWireThatIsFull_WhenItTakesTheRestWhileAttended_ThenWhatCameSinceIsTheAttendants()
    {
        (FrameSender sender, FrameReader peer, Wire wire) = Pair();
        using Wire owned = wire;
        sender.Attend();
        int queued = 0;
        while (queued < 40) Enqueue(sender, queued++, 30_000);
        FillWire(sender);
        int last = queued;
        Enqueue(sender, last, 1000);
        Task<int> receiving = ReadAsync(peer, queued + 1);
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(20));
        Assert.True(sender.QueuedBytes > 1000);
        await Eventually.TrueAsync(
            () => !sender.TrySendAttended() && sender.QueuedBytes == 0, "all is sent");
        Assert.Equal(last + 1, await receiving.WaitAsync(Calls.Timeout));
    }

    [Fact]
    public async Task GivenFramesThatWaitForTheAttendant_WhenTheSenderCloses_ThenTheyAreDroppedAndItIsIdle()
    {
        (FrameSender sender, FrameReader _, Wire wire) = Pair();
        using Wire owned = wire;
        sender.Attend();
        Enqueue(sender, 0);
        Task idle = sender.WhenIdle();
        Assert.False(idle.IsCompleted);
        sender.Close();
        await idle.WaitAsync(Calls.Timeout);
        Assert.Equal(0, sender.QueuedBytes);
        Assert.False(sender.TrySendAttended());
        sender.Leave();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task GivenAttendantsThatComeAndGo_WhenFramesAreQueuedAsFastAsCanBe_ThenAllLeaveOnceAndInOrder(int seed)
    {
        const int Count = 60_000;
        (FrameSender sender, FrameReader peer, Wire wire) = Pair();
        using Wire owned = wire;
        using var isOver = new CancellationTokenSource();
        Task attending = Task.Run(() => ComeAndGo(sender, seed, isOver.Token));
        Task<int> reading = ReadAsync(peer, Count);
        var random = new Random(seed);
        for (int i = 0; i < Count; i++)
        {
            await sender.WhenWritable().AsTask().WaitAsync(Calls.Timeout);
            Enqueue(sender, i, random.Next(sizeof(int), 2048), inline: random.Next(20) == 0);
        }

        Assert.Equal(Count, await reading.WaitAsync(Calls.Timeout));
        await isOver.CancelAsync();
        await attending.WaitAsync(Calls.Timeout);
        await sender.WhenIdle().WaitAsync(Calls.Timeout);
        Assert.Equal(0, sender.QueuedBytes);
    }

    /// <summary>Sends until the wire takes no more; more is queued than it takes.</summary>
    private static void FillWire(FrameSender sender)
    {
        Assert.True(sender.TrySendAttended());
        while (sender.TrySendAttended())
        {
            // One piece after the other.
        }

        Assert.True(sender.QueuedBytes > 0);
    }

    private static void ComeAndGo(FrameSender sender, int seed, CancellationToken isOver)
    {
        var random = new Random(seed);
        while (!isOver.IsCancellationRequested)
        {
            sender.Attend();
            for (int looks = random.Next(20); looks > 0; looks--) sender.TrySendAttended();
            sender.Leave();
            if (random.Next(3) == 0) Thread.Yield();
        }
    }

    private static (FrameSender Sender, FrameReader Peer, Wire Wire) Pair()
    {
        (InMemoryStream near, InMemoryStream far) = InMemoryStream.CreatePair();
        var wire = new Wire(near);
        var sender = new FrameSender(
            wire, MaxQueuedBytes, TimeProvider.System, exception => throw exception, callersHelp: true, new Gate());
        return (sender, new FrameReader(new WireReader(new Wire(far), 64 * 1024), MaxQueuedBytes), wire);
    }

    private static void Enqueue(FrameSender sender, int number, int payloadBytes = sizeof(int), bool inline = false)
    {
        byte[] payload = new byte[payloadBytes];
        BinaryPrimitives.WriteInt32LittleEndian(payload, number);
        Assert.True(sender.Enqueue(FrameHeader.Of(payload, 1, 1, FrameFlags.Oneway, 0, 0), payload, inline));
    }

    /// <summary>Reads so many frames, which are numbered from <paramref name="next"/> on.</summary>
    /// <returns>The number that would follow.</returns>
    private static async Task<int> ReadAsync(FrameReader peer, int count, int next = 0)
    {
        int end = next + count;
        while (true)
        {
            while (next < end && peer.TryRead(out _, out ReadOnlyMemory<byte> payload))
                Assert.Equal(next++, BinaryPrimitives.ReadInt32LittleEndian(payload.Span));
            if (next == end || !await peer.FillAsync()) return next;
        }
    }
}
