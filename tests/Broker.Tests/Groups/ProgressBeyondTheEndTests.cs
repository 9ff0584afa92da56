using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Groups;

/// <summary>Progress that lies beyond the end of its queue, because damage took the last messages and not what was
/// committed behind them.</summary>
public sealed class ProgressBeyondTheEndTests
{
    private const int PutBack = 3200;
    private const int LogIdOffset = 40;

    [Fact]
    public async Task GivenMessagesLostBehindTheProgress_WhenTheBrokerStarts_ThenTheGroupMeetsWhatGetsTheirOffsets()
    {
        TestBroker broker = await TestBroker.StartAsync(TestBroker.SmallOptions(FlushPolicy.Sync));
        BrokerOptions options = broker.Options;
        broker.OwnsDirectory = false;
        QueueId queue;
        await using (TestPeer peer = await broker.ConnectAsync())
        {
            queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
            for (int i = 0; i < 10; i++)
                await peer.ProduceAsync(queue, $"old-{i}");
            await CommitAsync(peer, queue, "ahead", 10);
            await CommitAsync(peer, queue, "at", 6);
            await CommitAsync(peer, queue, "behind", 5);
        }

        await broker.DisposeAsync();
        Damage(options.DataDirectory, queue, from: 6);

        var log = new CollectedLog();
        await using (broker = await TestBroker.StartAsync(options, loggers: log))
        {
            broker.OwnsDirectory = false;
            LogLine told = Assert.Single(log.Lines, line => line.Id == PutBack);
            Assert.Equal(Microsoft.Extensions.Logging.LogLevel.Warning, told.Level);
            Assert.StartsWith(
                $"Group ahead had committed up to 10 in queue {queue.Value}, which ends at 6: ",
                told.Text,
                StringComparison.Ordinal);
            await using TestPeer peer = await broker.ConnectAsync();
            await AssertProgressAsync(peer, queue);
            await peer.ProduceAsync(queue, "new-6", "new-7", "new-8", "new-9");
            await AssertProgressAsync(peer, queue);
        }

        // What was put back is durable: the next start has nothing to mend, and forgets nothing.
        log = new CollectedLog();
        await using (broker = await TestBroker.StartAsync(options, loggers: log))
        {
            Assert.Equal(0, log.CountOf(PutBack));
            await using TestPeer peer = await broker.ConnectAsync();
            await AssertProgressAsync(peer, queue);
        }
    }

    private static async Task CommitAsync(TestPeer peer, QueueId queue, string group, long next) => Assert.Equal(
        [ErrorCode.None],
        (await peer.InvokeAsync(new CommitOffsetsRequest(
            group,
            Guid.Empty,
            [new OffsetCommit(new QueueKey(0, queue), GroupGeneration.None, new QueueOffset(next), -1, null)])))
        .Errors);

    private static async Task AssertProgressAsync(TestPeer peer, QueueId queue)
    {
        Assert.Equal(6, await GroupCalls.ReadAsync(peer, queue, "ahead"));
        Assert.Equal(6, await GroupCalls.ReadAsync(peer, queue, "at"));
        Assert.Equal(5, await GroupCalls.ReadAsync(peer, queue, "behind"));
    }

    /// <summary>A bit rots in each message from an offset on; the snapshots and the marker of an orderly end are gone,
    /// so that the log alone tells.</summary>
    private static void Damage(string directory, QueueId queue, long from)
    {
        string logs = LogFiles.LogDirectory(directory);
        File.Delete(LogFiles.CleanFile(directory));
        foreach (string snapshot in Directory.GetFiles(logs, "*" + LogFiles.SnapshotSuffix))
            File.Delete(snapshot);
        string path = LogFiles.Segment(logs, default);
        byte[] bytes = File.ReadAllBytes(path);
        uint seed = EntryHeader.SeedOf(new Guid(bytes.AsSpan(LogIdOffset, 16), bigEndian: true));
        int damaged = 0;
        using (var scanner = new SegmentScanner(
            new PortableDisk().Open(path, DiskOpen.ReadOnly), path, default, seed))
        {
            while (scanner.Next() == ScanVerdict.Entry)
            {
                if (scanner.Header.Kind != EntryKind.Messages || scanner.Header.Queue != queue)
                    continue;
                RecordBatch.TryReadHeader(scanner.Batch, out RecordBatchHeader batch, out _);
                if (batch.BaseOffset.Value < from)
                    continue;
                bytes[scanner.FileOffset + EntryHeader.Length + RecordBatchLayout.HeaderSize] ^= 1;
                damaged++;
            }
        }

        Assert.Equal(4, damaged);
        File.WriteAllBytes(path, bytes);
    }
}
