namespace EQueue.MessageStore.Tests;

/// <summary>Reads that wait for the disk: how many may.</summary>
public sealed class DiskThreadsTests
{
    private const int MostWaiting = 10_000;

    [Fact]
    public void GivenAsManyReadsAsMayWait_WhenOneMoreComes_ThenItIsRefusedAndAtTheEndAllOfThemAre()
    {
        // Without a thread nothing is taken.
        var threads = new DiskThreads(count: 0, bytesPerSecond: 1 << 20, static () => 0);
        Waiting[] reads = [.. Enumerable.Range(0, MostWaiting).Select(i => new Waiting { Position = i })];
        foreach (Waiting read in reads)
            threads.Add(read);
        var more = new Waiting { Position = 0 };
        EQueueException refused = Assert.Throws<EQueueException>(() => threads.Add(more));
        Assert.Equal(ErrorCode.LimitReached, refused.Code);
        Assert.Contains("10000 reads wait for the disk", refused.Message, StringComparison.Ordinal);
        Assert.Null(more.Reason);

        threads.Stop();
        Assert.All(reads, read => Assert.Equal(ErrorCode.ShuttingDown, ((EQueueException)read.Reason!).Code));
        Assert.Throws<ObjectDisposedException>(() => threads.Add(more));
    }

    private sealed class Waiting : DiskWork
    {
        public Exception? Reason { get; private set; }

        public override void Run()
        {
        }

        public override void Refuse(Exception reason) => Reason = reason;
    }
}
