namespace EQueue.Cluster.Tests;

/// <summary>What threads put down for another one.</summary>
public sealed class MailboxTests
{
    [Fact]
    public void GivenThingsPutInAndAClosedMailbox_WhenTaken_ThenTheyComeInOrder_AndNothingThatCameLater()
    {
        var mailbox = new Mailbox<int>();
        mailbox.Post(1);
        mailbox.Post(2);
        mailbox.Close();
        mailbox.Post(3);

        Assert.False(mailbox.IsDone);
        Assert.True(mailbox.TryTake(out int first, Timeout.InfiniteTimeSpan));
        Assert.True(mailbox.TryTake(out int second, Timeout.InfiniteTimeSpan));
        Assert.Equal((1, 2), (first, second));
        Assert.True(mailbox.IsDone);
        Assert.False(mailbox.TryTake(out _, Timeout.InfiniteTimeSpan));
    }

    [Fact]
    public void GivenAnEmptyMailbox_WhenNothingComesInTime_ThenNothingIsTaken()
    {
        var mailbox = new Mailbox<int>();
        Assert.False(mailbox.TryTake(out _, TimeSpan.Zero));
        Assert.False(mailbox.TryTake(out _, TimeSpan.FromMilliseconds(1)));
        Assert.False(mailbox.IsDone);
    }

    [Fact]
    public void GivenSeveralThatPost_WhenOneTakesMeanwhile_ThenEachThingIsTakenOnce_AndEachOnesInOrder()
    {
        const int Posters = 3;
        const int Each = 20_000;
        var mailbox = new Mailbox<(int Poster, int Number)>();
        Thread[] posters = [.. Enumerable.Range(0, Posters).Select(poster => new Thread(() =>
        {
            for (int number = 0; number < Each; number++)
                mailbox.Post((poster, number));
        }))];
        foreach (Thread poster in posters)
            poster.Start();

        int[] next = new int[Posters];
        for (int taken = 0; taken < Posters * Each; taken++)
        {
            Assert.True(mailbox.TryTake(out (int Poster, int Number) thing, TimeSpan.FromMinutes(1)));
            Assert.Equal(next[thing.Poster]++, thing.Number);
        }

        Assert.True(mailbox.IsEmpty);
        foreach (Thread poster in posters)
            poster.Join();
    }

    [Fact]
    public async Task GivenOneThatWaitsForEver_WhenTheMailboxIsClosed_ThenItGoesOn()
    {
        var mailbox = new Mailbox<int>();
        Task<bool> taking = Task.Run(() => mailbox.TryTake(out _, Timeout.InfiniteTimeSpan));
        mailbox.Close();
        Assert.False(await taking.WaitAsync(TimeSpan.FromMinutes(1), TestContext.Current.CancellationToken));
    }
}
