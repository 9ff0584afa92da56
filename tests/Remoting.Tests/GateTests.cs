using EQueue.Support;

namespace EQueue.Remoting.Tests;

public sealed class GateTests
{
    [Fact]
    public async Task GivenManyThreads_WhenEachCountsUnderIt_ThenNoCountIsLost()
    {
        const int Threads = 8, Counts = 200_000;
        var gate = new Gate();
        long count = 0;
        Task[] counting = [.. Enumerable.Range(0, Threads).Select(_ => OwnThread.Run(() =>
        {
            for (int i = 0; i < Counts; i++)
            {
                using (gate.Enter())
                    count++;
            }
        }))];
        await Task.WhenAll(counting).WaitAsync(Calls.Timeout);
        Assert.Equal((long)Threads * Counts, count);
    }

    [Fact]
    public async Task GivenTwoThreads_WhenBothComeAtOnceAgainAndAgain_ThenOneWaitsForTheOther()
    {
        const int Rounds = 100_000;
        var gate = new Gate();
        long arrived = 0;
        long count = 0;
        Task[] counting = [.. Enumerable.Range(0, 2).Select(_ => OwnThread.Run(() =>
        {
            for (int round = 1; round <= Rounds; round++)
            {
                Interlocked.Increment(ref arrived);
                var spin = default(SpinWait);
                while (Volatile.Read(ref arrived) < 2 * round)
                    spin.SpinOnce(sleep1Threshold: -1);
                using (gate.Enter())
                    count++;
            }
        }))];
        await Task.WhenAll(counting).WaitAsync(Calls.Timeout);
        Assert.Equal(2 * Rounds, count);
    }

    [Fact]
    public async Task GivenAHolderThatSleeps_WhenOthersWait_ThenNoneGetsInBeforeItLetsGo()
    {
        var gate = new Gate();
        using var isHeld = new ManualResetEventSlim();
        using var mayLetGo = new ManualResetEventSlim();
        int inside = 0;
        Task holder = OwnThread.Run(() =>
        {
            using (gate.Enter())
            {
                isHeld.Set();
                mayLetGo.Wait(Calls.Timeout);
                Assert.Equal(0, Volatile.Read(ref inside));
            }
        });
        Assert.True(isHeld.Wait(Calls.Timeout));
        Task[] others = [.. Enumerable.Range(0, 4).Select(_ => OwnThread.Run(() =>
        {
            using (gate.Enter())
                inside++;
        }))];
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(50));
        mayLetGo.Set();
        await Task.WhenAll([holder, .. others]).WaitAsync(Calls.Timeout);
        Assert.Equal(4, inside);
    }

    [Fact]
    public async Task GivenAThreadThatComesBack_WhenItLetsGoOnce_ThenOthersWaitUntilItHasDoneSoAsOften()
    {
        var gate = new Gate();
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
                Assert.True(mayLetGo.Wait(Calls.Timeout));
                Volatile.Write(ref isLetGo, true);
            }
        });
        Assert.True(isHeldStill.Wait(Calls.Timeout));
        Task[] others = [.. Enumerable.Range(0, 4).Select(_ => OwnThread.Run(() =>
        {
            using (gate.Enter())
                Assert.True(Volatile.Read(ref isLetGo));
        }))];
        await Eventually.PassedAsync(TimeSpan.FromMilliseconds(50));
        mayLetGo.Set();
        await Task.WhenAll([holder, .. others]).WaitAsync(Calls.Timeout);
    }
}
