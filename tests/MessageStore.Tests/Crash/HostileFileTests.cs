using System.Buffers;
using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>
/// Thousands of seeded changes of every kind of file: refused or survived, never a crash, a hang, memory beyond a limit
/// or, as long as a checksum can tell, a wrong byte served. In the second half of them the checksums are right again.
/// EQUEUE_FUZZ sets how many (20,000), EQUEUE_FUZZ_SEED where the seeds begin.
/// </summary>
public sealed class HostileFileTests
{
    private const int LogsPerTest = 4;
    private const int Appends = 50;
    private const int AtOnce = 4;
    private const int StoreEvery = 25;
    private const int MostReads = 500;
    private const long MostAllocated = 64L << 20;
    private const long LargestFile = 8L << 20;

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private static readonly int Mutations = LongRun.Length("EQUEUE_FUZZ", 8_000, 100_000);

    private static readonly int FirstSeed = LongRun.Setting("EQUEUE_FUZZ_SEED", 11);

    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenMutatedFiles_WhenVerifiedRecoveredAndRead_ThenNothingBreaksAndNothingWrongIsServed(
        bool areChecksumsRight)
    {
        int refused = 0;
        for (int log = 0; log < LogsPerTest; log++)
        {
            int seed = FirstSeed + log;
            CrashHistory history = await CrashRun.RecordAsync(seed, FlushPolicy.Sync, Appends, Cancel);
            var good = new HostileFiles(history.Disk.Copy(), Cancel);
            await Parallel.ForEachAsync(
                Enumerable.Range(0, Math.Max(1, Mutations / 2 / LogsPerTest)),
                new ParallelOptions { MaxDegreeOfParallelism = AtOnce, CancellationToken = Cancel },
                async (i, _) =>
                {
                    bool isWhole = i % StoreEvery == 0;
                    SimulatedDisk disk = good.Mutate(new Random((seed * 1_000_003) + i), areChecksumsRight, out string change);
                    try
                    {
                        // On a thread of its own, which counts what it allocates; a hang is a failure.
                        bool isTaken = await Task.Run(
                            () => CheckAsync(areChecksumsRight ? null : history, disk, isWhole), Cancel)
                            .WaitAsync(Deadline, Cancel);
                        if (!isTaken)
                            Interlocked.Increment(ref refused);
                    }
                    catch (Exception exception) when (exception is not OperationCanceledException)
                    {
                        throw new InvalidOperationException(
                            $"seed {seed}, mutation {i}: {change}: {exception.Message}", exception);
                    }
                });
        }

        TestContext.Current.TestOutputHelper?.WriteLine($"{Mutations / 2} mutations, {refused} refused");
        if (!areChecksumsRight)
            Assert.InRange(refused, 0, Mutations / 2 / 4);
    }

    private static async Task<bool> CheckAsync(CrashHistory? history, SimulatedDisk disk, bool isWhole)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        bool isTaken = true;
        try
        {
            LogVerifier.Verify(disk, CrashRun.Folder, Cancel);
        }
        catch (StoreFormatException)
        {
            // A damaged store file cannot be verified; opening rebuilds it.
        }

        try
        {
            ReadIndexes(disk);
            SimulatedDisk copy = disk.Copy();
            copy.LargestFile = LargestFile;
            Recover(copy);
        }
        catch (Exception exception)
            when (exception is StoreFormatException or DiskException { Fault: DiskFault.Full })
        {
            // Full: a segment of the largest size that a header may tell.
            isTaken = false;
        }

        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        Assert.True(allocated < MostAllocated, $"{allocated} bytes were allocated");
        if (isWhole && isTaken)
            await ReadStoreAsync(history, disk);
        return isTaken;
    }

    private static void Recover(SimulatedDisk disk)
    {
        var state = new LogState(new QueueTable(), new ProducerTable(), new MemoryState());
        RecoveredLog log = Recovery.Run(
            CrashRun.OptionsOn(disk, FlushPolicy.Sync), disk, state, NullLogger.Instance, TimeProvider.System, null, Cancel);
        log.Segments[^1].File?.Dispose();
    }

    private static void ReadIndexes(SimulatedDisk disk)
    {
        string directory = LogFiles.LogDirectory(CrashRun.Folder);
        if (StoreHeader.Read(
            disk.ReadAll(LogFiles.StoreFile(CrashRun.Folder)), out StoreHeader? store) != FileVerdict.Valid)
        {
            return;
        }

        var entries = new SealedEntry[SealedBlock.MaxEntries];
        foreach (LogPosition position in LogFiles.Find(disk, directory, LogFiles.IndexSuffix))
        {
            string path = LogFiles.Index(directory, position);
            if (SealedIndex.TryOpen(
                disk, path, store!.LogIds[0], position, out SealedIndex? index) != FileVerdict.Valid)
            {
                continue;
            }

            using (index)
            {
                try
                {
                    for (uint id = 0; id < 5; id++)
                    {
                        if (index!.TryFind(new QueueId(id), out SealedQueue row)
                            && index.FindBlock(row, new QueueOffset(row.FirstOffset)) is var block && block >= 0)
                        {
                            index.ReadBlock(row, block, entries);
                        }
                    }
                }
                catch (StoreFormatException exception)
                {
                    Assert.Contains("rebuilt", exception.Message, StringComparison.Ordinal);
                }
            }
        }
    }

    /// <summary>Reads every offset of every queue: what is served is what was sent, the rest is called
    /// damaged.</summary>
    private static async Task ReadStoreAsync(CrashHistory? history, SimulatedDisk disk)
    {
        await using QueueStore store = await CrashRun.OpenAsync(disk, FlushPolicy.Sync, new MemoryState(), Cancel);
        foreach (QueueView view in store.Queues.ToArray())
        {
            long offset = view.Start.Value;
            for (int reads = 0; offset < view.End.Value && reads < MostReads; reads++)
            {
                var bytes = new ArrayBufferWriter<byte>();
                ReadResult result =
                    await store.ReadFromDiskAsync(view.Id, new QueueOffset(offset), 4_096, bytes, Cancel);
                Assert.True(result.NextOffset.Value > offset, $"{result} leads nowhere");
                offset = result.NextOffset.Value;
                if (result.Error != ErrorCode.None)
                {
                    Assert.Equal(ErrorCode.DamagedData, result.Error);
                    Assert.Equal(0, bytes.WrittenCount);
                }
                else if (history is not null)
                {
                    foreach (TestBatch.Entry entry in TestBatch.Split(bytes.WrittenSpan, view.Id))
                        history.CheckEntry(view.Id.Value, entry);
                }
            }
        }
    }
}
