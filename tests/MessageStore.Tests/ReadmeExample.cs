using System.Buffers;
using System.Text;
using EQueue.Protocol;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>The README's example, word for word; a test compares and runs it.</summary>
internal static class ReadmeExample
{
    public static async Task<string> RunAsync(string folder, IStateMachine noState)
    {
        // example begins
        var options = new StoreOptions { DataDirectory = folder, FlushPolicy = FlushPolicy.Sync };
        CancellationToken none = CancellationToken.None;
        await using QueueStore store =
            await QueueStore.OpenAsync(options, noState, NullLoggerFactory.Instance, TimeProvider.System, none);
        QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), firstNumber: 0, count: 4, together: [], none);

        var builder = new RecordBatchBuilder();
        byte[] batch = new byte[1024];
        builder.Reset(batch, baseTimestampMs: 1_700_000_000_000);
        builder.TryAppend("hello"u8, timestampMs: 1_700_000_000_000);
        batch = batch[..builder.Complete(ProducerSession.None, baseSequence: -1)];
        AppendResult stored = await store.AppendAsync(queues[0], batch, Durability.Policy, none);

        var entries = new ArrayBufferWriter<byte>(); // whole entries: a header of 48 bytes, then the batch
        store.Read(queues[0], stored.FirstOffset, maxBytes: 1 << 20, entries);
        // example ends
        var reader = new RecordReader(entries.WrittenSpan[EntryHeader.Length..]);
        Assert.True(reader.TryRead(out RecordView record));
        return Encoding.UTF8.GetString(record.Body);
    }
}
