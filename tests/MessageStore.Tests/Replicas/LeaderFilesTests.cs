namespace EQueue.MessageStore.Tests;

/// <summary>The files that a leader gives to others.</summary>
public sealed class LeaderFilesTests : StoreTest
{
    [Fact]
    public async Task GivenABadSector_WhenItsFileIsRead_ThenZerosStandInItsPlaceAndTheRestIsThere()
    {
        await using QueueStore store = await OpenAsync(SmallSegments);
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 40; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(4_000, i), Durability.Policy, Cancel);
        string first = Directory.GetFiles(Path.Combine(Folder, "logs", "0"), "*.log").Order().First();
        byte[] good = File.ReadAllBytes(first);
        Break(first, sector: 5 * 4096);

        byte[] read = new byte[32 << 10];
        Assert.Equal(read.Length, store.ReadFile(Path.GetFileName(first), 0, read));

        good.AsSpan(5 * 4096, 4096).Clear();
        Assert.Equal(good[..read.Length], read);
    }
}
