using System.Buffers;
using System.Buffers.Binary;
using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>Thousands of seeded changes of every kind of file: refused or survived, never a crash, a hang, or a wrong
/// byte served.</summary>
public sealed class HostileFileTests
{
    private const int Mutations = 3_000;
    private const int StoreEvery = 25;
    private const long MostAllocated = 64L << 20;

    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(11)]
    [InlineData(12)]
    public async Task GivenMutatedFiles_WhenVerifiedRecoveredAndRead_ThenNothingBreaksAndNothingWrongIsServed(int seed)
    {
        CrashHistory history = await CrashRun.RecordAsync(seed, FlushPolicy.Sync, appends: 90, Cancel);
        SimulatedDisk good = history.Disk.Copy();
        string[] files =
            [.. good.Files.Where(path => !path.EndsWith(LogFiles.PreparedSuffix, StringComparison.Ordinal))];
        var random = new Random(seed);
        int refused = 0;
        for (int i = 0; i < Mutations / 2; i++)
        {
            SimulatedDisk disk = good.Copy();
            string path = files[random.Next(files.Length)];
            byte[] bytes = disk.ReadAll(path);
            string change = Mutate(ref bytes, random);
            disk.WriteAll(path, bytes);
            try
            {
                refused += await CheckAsync(history, disk, isWhole: i % StoreEvery == 0) ? 0 : 1;
            }
            catch (Exception exception) when (exception is not OperationCanceledException)
            {
                throw new InvalidOperationException(
                    $"seed {seed}, mutation {i}: {change} of {path}: {exception.Message}", exception);
            }
        }

        Assert.InRange(refused, 0, Mutations / 2 / 4);
    }

    private static async Task<bool> CheckAsync(CrashHistory history, SimulatedDisk disk, bool isWhole)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
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
            if (isWhole)
                await ReadStoreAsync(history, disk);
            else
                Recover(disk);
            return true;
        }
        catch (StoreFormatException)
        {
            return false;
        }
        finally
        {
            if (!isWhole)
                Assert.True(GC.GetAllocatedBytesForCurrentThread() - before < MostAllocated);
        }
    }

    private static void Recover(SimulatedDisk disk)
    {
        var state = new LogState(new QueueTable(), new ProducerTable(), new MemoryState());
        RecoveredLog log = Recovery.Run(
            CrashRun.OptionsOn(disk, FlushPolicy.Sync), disk, state, NullLogger.Instance, TimeProvider.System, Cancel);
        log.Segments[^1].File?.Dispose();
    }

    private static void ReadIndexes(SimulatedDisk disk)
    {
        string directory = LogFiles.LogDirectory(CrashRun.Folder);
        if (StoreHeader.Read(
            disk.ReadAll(LogFiles.StoreFile(CrashRun.Folder)), out StoreHeader? store) != FileVerdict.Valid)
            return;
        var entries = new SealedEntry[SealedBlock.MaxEntries];
        foreach (LogPosition position in LogFiles.Find(disk, directory, LogFiles.IndexSuffix))
        {
            string path = LogFiles.Index(directory, position);
            if (SealedIndex.TryOpen(
                disk, path, store!.LogIds[0], position, out SealedIndex? index) != FileVerdict.Valid)
                continue;
            using (index)
            {
                try
                {
                    for (uint id = 0; id < 5; id++)
                    {
                        if (index!.TryFind(new QueueId(id), out SealedQueue row)
                            && index.FindBlock(row, new QueueOffset(row.FirstOffset)) is var block && block >= 0)
                            index.ReadBlock(row, block, entries);
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
    private static async Task ReadStoreAsync(CrashHistory history, SimulatedDisk disk)
    {
        await using QueueStore store = await CrashRun.OpenAsync(disk, FlushPolicy.Sync, new MemoryState(), Cancel);
        foreach (QueueView view in store.Queues.ToArray())
        {
            for (long offset = view.Start.Value; offset < view.End.Value;)
            {
                var bytes = new ArrayBufferWriter<byte>();
                ReadResult result =
                    await store.ReadFromDiskAsync(view.Id, new QueueOffset(offset), 4_096, bytes, Cancel);
                if (result.Error != ErrorCode.None)
                {
                    Assert.Equal(ErrorCode.DamagedData, result.Error);
                    Assert.Equal(0, bytes.WrittenCount);
                    offset++;
                    continue;
                }

                foreach (TestBatch.Entry entry in TestBatch.Split(bytes.WrittenSpan, view.Id))
                    history.CheckEntry(view.Id.Value, entry);
                Assert.True(result.NextOffset.Value > offset);
                offset = result.NextOffset.Value;
            }
        }
    }

    private static string Mutate(ref byte[] bytes, Random random)
    {
        int at = bytes.Length == 0 ? 0 : random.Next(random.Next(3) == 0 ? Math.Min(bytes.Length, 256) : bytes.Length);
        int size = Math.Min(bytes.Length - at, 1 + random.Next(random.Next(2) == 0 ? 8 : 2_000));
        switch (random.Next(7))
        {
            case 0 when size > 0:
                bytes[at] ^= (byte)(1 << random.Next(8));
                return $"bit at {at}";
            case 1:
                random.NextBytes(bytes.AsSpan(at, size));
                return $"noise of {size} at {at}";
            case 2:
                bytes.AsSpan(at, size).Clear();
                return $"zeros of {size} at {at}";
            case 3:
                bytes = bytes[..at];
                return $"cut at {at}";
            case 4 when size >= 4:
                int[] values = [-1, int.MaxValue, int.MinValue, random.Next(100_000)];
                int value = values[random.Next(values.Length)];
                BinaryPrimitives.WriteInt32LittleEndian(bytes.AsSpan(at), value);
                return $"number {value} at {at}";
            case 5:
                int from = random.Next(bytes.Length - size + 1);
                bytes.AsSpan(from, size).CopyTo(bytes.AsSpan(at));
                return $"{size} bytes from {from} to {at}";
            default:
                byte[] more = new byte[random.Next(10_000)];
                random.NextBytes(more);
                bytes = [.. bytes, .. more];
                return $"{more.Length} more bytes";
        }
    }
}
