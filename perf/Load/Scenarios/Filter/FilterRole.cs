using System.Text;
using System.Text.Json;
using EQueue.Load.Consuming;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;
using EQueue.Load.Sending;

namespace EQueue.Load.Scenarios;

/// <summary>
/// A producer of tagged messages, or a reader of some of them: <c>send</c> with a <see cref="FilterOrder"/>,
/// <c>read</c> with a <see cref="FilterReadOrder"/>.
/// </summary>
internal sealed class FilterRole : IRole
{
    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken) =>
        command == "send"
            ? await SendAsync(RoleJson.Read<FilterOrder>(argument), cancellationToken)
            : await ReadAsync(RoleJson.Read<FilterReadOrder>(argument), cancellationToken);

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;

    /// <summary>Twice as many bodies as sends under way: a body must not be stamped anew before it is sent.</summary>
    private static int SlotCount(FilterOrder order) => 2 * order.InFlight;

    private static async Task<FilterSendResult> SendAsync(FilterOrder order, CancellationToken cancellationToken)
    {
        await using EQueueClient client = LoadClient.To(order.Server);
        await using Producer producer = client.CreateProducer();
        var tags = new TagPlan(order.RunLength);
        var bodies = new BodyPool(order.Seed, 0, order.Size, SlotCount(order));
        var receipts = new ReceiptRing<SendReceipt>(order.InFlight, new LatencyHistogram());
        var start = ProcessFigures.Take();
        for (long sequence = 0; sequence < order.Messages; sequence++)
        {
            ReadOnlyMemory<byte> body = bodies.Next(new BodyStamp(sequence, 0, order.Run), 0);
            ValueTask<SendReceipt> send = producer.SendAsync(
                order.Topic, body, tag: tags.NameOf(sequence), cancellationToken: cancellationToken);
            receipts.Add(send, 0);
            if (receipts.IsFull)
                await receipts.TakeOldest();
        }

        await receipts.DrainAsync();
        var end = ProcessFigures.Take();
        return new FilterSendResult((end.TakenNs - start.TakenNs) / 1e9, start, end);
    }

    private static async Task<FilterReadResult> ReadAsync(FilterReadOrder order, CancellationToken cancellationToken)
    {
        FilterOrder stream = order.Stream;
        await using EQueueClient client = LoadClient.To(stream.Server);
        long before = await FetchedBytesAsync(client, cancellationToken);
        var checker = new SequenceChecker(
            new BodyComparer(stream.Seed, stream.Size, SlotCount(stream)), 1, stream.Queues, stream.Size, stream.Run);
        var start = ProcessFigures.Take();
        (long messages, long unwanted) = await ReadAsync(client, order, checker, cancellationToken);
        var end = ProcessFigures.Take();
        long fetched = await FetchedBytesAsync(client, cancellationToken) - before;
        return new FilterReadResult(
            messages, (end.TakenNs - start.TakenNs) / 1e9, fetched, Judge(order, checker, unwanted), start, end);
    }

    private static async Task<(long Messages, long Unwanted)> ReadAsync(
        EQueueClient client, FilterReadOrder order, SequenceChecker checker, CancellationToken cancellationToken)
    {
        string wanted = new TagPlan(order.Stream.RunLength).Wanted;
        byte[] wantedTag = Encoding.UTF8.GetBytes(wanted);
        Observer observe =
            order.Faults == Faults.None ? checker.Observe : new FaultInjector(order.Faults, checker.Observe).Observe;
        await using QueueReader reader = client.CreateReader(
            new ReaderOptions { Tags = order.OnlyWanted ? [wanted] : [], StopAtEnd = true });
        await reader.AssignAllAsync(order.Stream.Topic, StartPosition.Begin, cancellationToken);
        long messages = 0, unwanted = 0;
        await foreach (ReceivedBatch batch in reader.ReadBatchesAsync(cancellationToken))
        {
            foreach (RecordView record in batch)
            {
                observe(batch.Queue, record.Body);
                messages++;
                if (order.OnlyWanted && !record.Tag.SequenceEqual(wantedTag))
                    unwanted++;
            }
        }

        return (messages, unwanted);
    }

    /// <summary>A reader of one tag must have got every message of it; one of another tag counts as damaged.</summary>
    private static CheckResult Judge(FilterReadOrder order, SequenceChecker checker, long unwanted)
    {
        FilterOrder stream = order.Stream;
        CheckResult check = SequenceChecker.Judge([checker], [stream.Messages]);
        if (!order.OnlyWanted)
            return check;
        long others = stream.Messages - new TagPlan(stream.RunLength).CountWanted(stream.Messages);
        return check with
        {
            Missing = Math.Max(0, check.Missing - others + unwanted),
            Damaged = check.Damaged + unwanted,
        };
    }

    private static async Task<long> FetchedBytesAsync(EQueueClient client, CancellationToken cancellationToken) =>
        (await client.Admin.ReadFiguresAsync(cancellationToken)).Find("broker.fetchedBytes")
        ?? throw LoadException.Failed("the broker does not tell the bytes that it sends");
}
