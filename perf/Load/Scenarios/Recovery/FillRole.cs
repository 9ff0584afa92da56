using System.Text.Json;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;
using EQueue.MessageStore;
using EQueue.Protocol;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Fills the queues that a broker made, by the store itself: <c>fill</c> with a <see cref="FillOrder"/>. The store
/// stays open, so that a kill of this process leaves what a kill of the broker leaves.
/// </summary>
internal sealed class FillRole : IRole
{
    private const int RequestBatches = 256;
    private const int RequestsUnderWay = 16;

    private QueueStore? _store;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        FillOrder order = RoleJson.Read<FillOrder>(argument);
        var options = new StoreOptions
        {
            DataDirectory = order.Directory,
            FlushPolicy = order.Flush == FlushMode.Sync ? FlushPolicy.Sync : FlushPolicy.Async,
        };
        _store ??= await QueueStore.OpenAsync(
            options, new RawState(), NullLoggerFactory.Instance, TimeProvider.System, cancellationToken);
        QueueId[] queues = _store.Queues.Where(queue => queue.Id != QueueId.State).Select(queue => queue.Id).ToArray();
        byte[] batch = Encode(order);
        int entryBytes = batch.Length + StoreReadBack.EntryHeaderBytes;
        int batchCount = Math.Clamp(_store.MaxRequestBytes / entryBytes, 1, RequestBatches);
        AppendRequest[] requests = Enumerable.Range(0, RequestsUnderWay)
            .Select(_ => new AppendRequest(batchCount, new LatencyHistogram())).ToArray();
        long count = 0;
        for (int round = 0; round < order.Rounds; round++)
        {
            foreach (QueueId[] part in queues.Chunk(batchCount))
            {
                AppendRequest request = requests[count++ % requests.Length];
                await request.WaitAsync();
                await AppendAsync(request, part, batch, cancellationToken);
            }
        }

        foreach (AppendRequest? request in requests)
            await request.WaitAsync();
        return new FillResult((long)order.Rounds * queues.Length * order.BatchMessages);
    }

    public async ValueTask DisposeAsync()
    {
        if (_store is not null)
            await _store.DisposeAsync();
    }

    private static byte[] Encode(FillOrder order)
    {
        byte[] body = new byte[order.Size];
        BodyBytes.Fill(body, order.Seed, 0, 0);
        long recordBytes = RecordBatchBuilder.SizeOf(new RecordContent { Body = body }, order.BatchMessages, 0);
        byte[] buffer = new byte[RecordBatchLayout.HeaderSize + (recordBytes * order.BatchMessages)];
        var builder = new RecordBatchBuilder();
        builder.Reset(buffer, 0);
        for (int i = 0; i < order.BatchMessages; i++)
            builder.TryAppend(body, 0);
        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }

    private async ValueTask AppendAsync(
        AppendRequest request, QueueId[] queues, byte[] batch, CancellationToken cancellationToken)
    {
        for (int i = 0; i < queues.Length; i++)
            request.Items[i] = new AppendItem { Queue = queues[i], Batch = batch, TagBits = uint.MaxValue };
        request.Begin(Clock.NowNs);
        AppendStatus status;
        while ((status = _store!.Append(request.Items.AsSpan(0, queues.Length), Durability.Policy, request))
            == AppendStatus.NoRoom)
        {
            await _store.WaitForRoomAsync(cancellationToken);
        }

        ErrorCode error = request.Items.Take(queues.Length).FirstOrDefault(item => item.Error != ErrorCode.None).Error;
        if (error == ErrorCode.StorageFull)
            throw LoadException.MachineLimit("disk", "the store takes no more");
        if (status == AppendStatus.Nothing || error != ErrorCode.None)
            throw LoadException.Failed($"the store refused a batch: {error}");
    }
}

/// <summary>One batch for each queue, again and again.</summary>
internal sealed record FillOrder(
    string Directory, FlushMode Flush, int Size, int BatchMessages, int Rounds, int Seed);

/// <summary>Messages that are in the store and were not before.</summary>
internal sealed record FillResult(long Messages);
