namespace EQueue.Remoting.Tests;

/// <summary>Frames that are being written, and those that wait for their peers, within one bound.</summary>
public sealed class SendBudgetTests
{
    [Fact]
    public void GivenAFrameWithABound_WhenItIsWrittenBeyond_ThenWritingEndsThereAndSaysSo()
    {
        var budget = new SendBudget(1 << 20);
        using var frame = FrameBuffer.Rent();
        frame.Bound(100_000, budget);
        SendMemoryException refusal = Assert.Throws<SendMemoryException>(() => Fill(frame, 200_000));
        Assert.True(refusal.IsTooLong);
        Assert.InRange(frame.WrittenCount + FrameHeader.Size, 99_000, 100_000);
        Assert.InRange(budget.UsedBytes, 100_000, 140_000);
    }

    [Fact]
    public void GivenABudgetThatIsSpent_WhenAFrameGrows_ThenWritingEndsAndASmallOneIsWrittenAllTheSame()
    {
        var budget = new SendBudget(100_000);
        using var first = FrameBuffer.Rent();
        first.Bound(1 << 20, budget);
        Fill(first, 60_000);
        Assert.False(budget.TakePressure());
        using var second = FrameBuffer.Rent();
        second.Bound(1 << 20, budget);
        SendMemoryException refusal = Assert.Throws<SendMemoryException>(() => Fill(second, 60_000));
        Assert.False(refusal.IsTooLong);
        Assert.Contains("of 100000 bytes", refusal.Message, StringComparison.Ordinal);
        Assert.True(budget.TakePressure());
        Assert.False(budget.TakePressure());
        using var small = FrameBuffer.Rent();
        small.Bound(1 << 20, budget);
        Fill(small, 8_000);
    }

    [Fact]
    public void GivenMoreThanThereIsAtAll_WhenTaken_ThenOneHasItAndTheNextWaitsUntilItIsBack()
    {
        var budget = new SendBudget(100_000);
        Assert.True(budget.TryTake(50_000));
        Assert.False(budget.TryTake(100_000));
        Assert.True(budget.TryTake(100_001));
        Assert.Equal(150_001, budget.UsedBytes);
        Assert.False(budget.TryTake(100_001));
        Assert.False(budget.TryTake(1));
        budget.Give(150_001);
        Assert.True(budget.TryTake(100_001));
        Assert.Equal(100_001, budget.UsedBytes);
    }

    [Fact]
    public void GivenFramesThatTookMemory_WhenTheyAreSealedOrLetGo_ThenItIsBackAndTheNextIsUnbounded()
    {
        var budget = new SendBudget(1 << 20);
        using var sealedFrame = FrameBuffer.Rent();
        sealedFrame.Bound(1 << 20, budget);
        Fill(sealedFrame, 100_000);
        var dropped = FrameBuffer.Rent();
        dropped.Bound(1 << 20, budget);
        Fill(dropped, 100_000);
        Assert.InRange(budget.UsedBytes, 200_000, 600_000);
        dropped.Dispose();
        sealedFrame.Seal(1, 0, FrameFlags.None, 1, 0);
        Assert.Equal(0, budget.UsedBytes);
        using var next = FrameBuffer.Rent();
        Fill(next, 2 << 20);
        Assert.Equal(0, budget.UsedBytes);
    }

    [Fact]
    public void GivenAQueueOfUnsentFrames_WhenItGrowsAndShrinks_ThenItCountsInUnitsAndAllowsLittleWhileAllIsSpent()
    {
        var budget = new SendBudget(100_000);
        var account = new SendAccount(budget);
        account.Count(SendBudget.UnitBytes - 1);
        Assert.Equal((0L, 8_000_000), (budget.UsedBytes, account.Allow(8_000_000)));
        account.Count(120_000);
        Assert.Equal(7 * SendBudget.UnitBytes, budget.UsedBytes);
        Assert.Equal(SendBudget.UnitBytes, account.Allow(8_000_000));
        account.Count(20_000);
        Assert.Equal((SendBudget.UnitBytes, 8_000_000), (budget.UsedBytes, account.Allow(8_000_000)));
        account.Count(0);
        Assert.Equal(0, budget.UsedBytes);
    }

    private static void Fill(FrameBuffer frame, int bytes)
    {
        for (int written = 0; written < bytes; written += 8)
            frame.Reserve(8).Clear();
    }
}
