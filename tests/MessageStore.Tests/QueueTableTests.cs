namespace EQueue.MessageStore.Tests;

public sealed class QueueTableTests
{
    [Fact]
    public void GivenAnIdThatOnlyDamageCanHaveMade_WhenOpened_ThenItCostsLittleAndIsFoundAlone()
    {
        var table = new QueueTable();
        table.Open(new QueueId(3), default, 0);
        long before = GC.GetAllocatedBytesForCurrentThread();
        Queue far = table.Open(new QueueId(4_000_000_000), default, 0);
        Assert.True(GC.GetAllocatedBytesForCurrentThread() - before < 32 << 20);
        Assert.Same(far, table.Find(far.Id));
        Assert.Null(table.Find(new QueueId(3_999_999_999)));
        Assert.Null(table.Find(new QueueId(uint.MaxValue)));
        Assert.Equal([3, 4_000_000_000], table.All.Select(queue => queue.Id.Value));
        Assert.Equal(4_000_000_001, table.NextId);
        Assert.Equal(5u, table.SkipEmpty(5));
        Assert.InRange(table.SkipEmpty(100_000), 3_999_990_000, 4_000_000_000);

        table.Remove(far.Id, position: 1);
        Assert.Equal(1, table.Count);
        Assert.Null(table.Find(far.Id));
    }
}
