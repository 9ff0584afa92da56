using EQueue.Support;

namespace EQueue.Client.Tests;

public sealed class LaneGateTests
{
    private static readonly TimeSpan Timeout = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task GivenManyThreads_WhenEachCountsUnderIt_ThenNoCountIsLost()
    {
        const int Threads = 8, Counts = 200_000;
        var gate = new LaneGate();
        long count = 0;
        Task[] counting = [.. Enumerable.Range(0, Threads).Select(_ => OwnThread.Run(() =>
        {
            for (int i = 0; i < Counts; i++)
            {
                using (gate.Enter())
                    count++;
            }
        }))];
        await Task.WhenAll(counting).WaitAsync(Timeout, TestContext.Current.CancellationToken);
        Assert.Equal((long)Threads * Counts, count);
    }

    [Fact]
    public async Task GivenAThreadThatComesBack_WhenItLetsGoOnce_ThenOthersWaitUntilItHasDoneSoAsOften()
    {
        var gate = new LaneGate();
        using var isHeldStill = new ManualResetEventSlim();
        using var mayLetGo = new ManualResetEventSlim();
        bool isLetGo = false;
        Task holder = OwnThread.Run(() =>
        {
            using (gate.Enter())
            {
                using (gate.Enter())
                {
                    using (gate.Enter())
                    {
                        // It comes back twice.
                    }
                }

                isHeldStill.Set();
                Assert.True(mayLetGo.Wait(Timeout));
                Volatile.Write(ref isLetGo, true);
            }
        });
        Assert.True(isHeldStill.Wait(Timeout, TestContext.Current.CancellationToken));
        Task[] others = [.. Enumerable.Range(0, 4).Select(_ => OwnThread.Run(() =>
        {
            using (gate.Enter())
                Assert.True(Volatile.Read(ref isLetGo));
        }))];
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(50));
        mayLetGo.Set();
        await Task.WhenAll([holder, .. others]).WaitAsync(Timeout, TestContext.Current.CancellationToken);
    }
}
