using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Broker.Tests.Memory;

/// <summary>How the memory of the machine, the container or the heap becomes limits.</summary>
public sealed class MemoryPlanTests
{
    private const long MiB = 1 << 20;

    private static readonly StoreOptions Store = new() { DataDirectory = "." };

    [Theory]
    [InlineData(262_144, null, 262_144, 196_608)]
    [InlineData(16_384, null, 16_384, 12_288)]
    [InlineData(16_384, 300L, 225, 225)]
    [InlineData(16_384, 300L, 16_384, 225)]
    [InlineData(16_384, null, 256, 256)]
    [InlineData(16_384, 1_024L, 256, 256)]
    public void GivenAMachineAContainerAndAHeap_WhenRead_ThenTheLeastOfThemIsUsable(
        long machineMiB, long? containerMiB, long heapMiB, long usableMiB) => Assert.Equal(
        usableMiB * MiB, new MemoryFacts(machineMiB * MiB, containerMiB * MiB, heapMiB * MiB).UsableBytes);

    [Theory]
    [InlineData(16_384, 1_024, 512, 256, 256, 18_000, 200_000, 50_000)]
    [InlineData(1_024, 122, 113, 75, 47, 3_624, 84_844, 13_198)]
    [InlineData(256, 22, 21, 14, 8, 675, 15_818, 2_460)]
    [InlineData(64, 4, 3, 2, 1, 122, 2_876, 447)]
    public void GivenAHeap_WhenItIsDivided_ThenEachDefaultIsItsShareAndAtMostWhatItIsElsewhere(
        long heapMiB, long receive, long send, long requests, long parked, int connections, int queues, int topics)
    {
        LimitOptions limits = MemoryPlan.Apply(new LimitOptions(), Store, heapMiB * MiB);
        Assert.Equal(
            (receive, send, requests, parked, connections, queues, topics),
            (limits.ReceiveBytes / MiB, limits.MemoryBytes / MiB, limits.RequestBytes / MiB,
                limits.ParkedBytes / MiB, limits.MaxConnections, limits.MaxQueues, limits.MaxTopics));
    }

    [Fact]
    public void GivenTheTable_WhenAddedUp_ThenAQuarterStaysFree() =>
        Assert.InRange(MemoryPlan.Shares.Sum(share => share.Percent), 60, 75);

    [Fact]
    public void GivenLimitsThatAreSet_WhenMemoryIsSmall_ThenTheyStayAsTheyAre()
    {
        var set = new LimitOptions
        {
            ReceiveBytes = 1L << 30,
            MemoryBytes = 512L << 20,
            ParkedBytes = 256L << 20,
            RequestBytes = 256L << 20,
            AdminBytes = 256L << 20,
            FetchSessionBytes = 256L << 20,
            MemberBytes = 256L << 20,
            ProducerBytes = 256L << 20,
            SecurityBytes = 128L << 20,
            ProgressBytes = 512L << 20,
            MaxConnections = 18_000,
            MaxTopics = 50_000,
            MaxQueues = 200_000,
        };
        Assert.Equal(set, MemoryPlan.Apply(set, Store, 100 * MiB));
        Assert.Equal(MemoryPlan.Shares.Count, typeof(LimitOptions).GetProperties().Count(property =>
            !Equals(
                property.GetValue(MemoryPlan.Apply(new LimitOptions(), Store, 64 * MiB)),
                property.GetValue(new LimitOptions()))));
    }

    [Fact]
    public void GivenABrokerInMemory_WhenMemoryIsDivided_ThenWhatItsMessagesTakeIsLeftOut()
    {
        StoreOptions inMemory = Store with { Disk = new MemoryDisk(512 << 20) };
        Assert.Equal(
            MemoryPlan.Apply(new LimitOptions(), Store, 512 * MiB),
            MemoryPlan.Apply(new LimitOptions(), inMemory, 1_024 * MiB));
    }

    [Theory]
    [InlineData("0::/\n", "", "314572800", null, 300L)]
    [InlineData("0::/a/b\n", "a/b", "max", null, null)]
    [InlineData("0::/a/b\n", "a/b", "314572800", "209715200", 200L)]
    [InlineData("0::/a/b\n", "a/b", "209715200", "max", 200L)]
    [InlineData("12:memory:/x\n", "", "314572800", null, null)]
    public void GivenAControlGroup_WhenTheProcessIsLookedAt_ThenTheLeastBoundAboveItCounts(
        string groups, string folder, string max, string? maxAbove, long? expectedMiB)
    {
        using var root = new TempDirectory();
        string self = Directory.CreateDirectory(root["proc/self"]).FullName;
        File.WriteAllText(Path.Combine(self, "cgroup"), groups);
        File.WriteAllText(root["proc/meminfo"], "MemTotal:       16384000 kB\nMemFree:  1 kB\n");
        string group = Directory.CreateDirectory(Path.Combine(root["sys/fs/cgroup"], folder)).FullName;
        File.WriteAllText(Path.Combine(group, "memory.max"), max + "\n");
        if (maxAbove is not null)
            File.WriteAllText(Path.Combine(Path.GetDirectoryName(group)!, "memory.max"), maxAbove + "\n");
        var facts = MemoryFacts.Read(root.FullPath);
        Assert.Equal((16_384_000L << 10, expectedMiB * MiB), (facts.MachineBytes, facts.ContainerBytes));
        Assert.Equal(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes, facts.HeapBytes);
    }
}
