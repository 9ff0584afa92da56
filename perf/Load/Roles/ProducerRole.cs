using System.Text.Json;
using EQueue.Load.Measuring;
using EQueue.Load.Sending;

namespace EQueue.Load.Roles;

/// <summary>
/// All producers of a run: <c>prepare</c> with a <see cref="ProducerOrder"/>, then <c>send</c> at will.
/// </summary>
internal sealed class ProducerRole : IRole
{
    private ProducerOrder? _order;
    private SendLane[] _lanes = [];

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "send")
            return await SendAsync(RoleJson.Read<SendOrder>(argument), cancellationToken);
        _order = RoleJson.Read<ProducerOrder>(argument);
        _lanes = [.. Enumerable.Range(0, _order.Producers).Select(number => new SendLane(_order, number))];
        return null;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (SendLane lane in _lanes)
            await lane.DisposeAsync();
    }

    private async Task<SendResult> SendAsync(SendOrder order, CancellationToken cancellationToken)
    {
        long before = _lanes.Sum(lane => lane.Sequence);
        for (int i = 0; i < _lanes.Length; i++)
            _lanes[i].Begin(order.Seconds, order.MessagesPerProducer?[i]);
        var start = ProcessFigures.TakeWithSockets();
        long firstSentNs = Clock.NowNs;
        try
        {
            await SendAllAsync(order, cancellationToken);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.StorageFull)
        {
            throw LoadException.MachineLimit("disk", exception.Message, exception);
        }

        long lastAckedNs = Clock.NowNs;
        var ack = new LatencyHistogram();
        foreach (SendLane lane in _lanes)
            ack.Add(lane.Ack.ToCounts());
        long[] sent = _lanes.Select(lane => lane.Sequence).ToArray();
        return new SendResult(
            sent, sent.Sum() - before, firstSentNs, lastAckedNs, ack.ToCounts(), start,
            ProcessFigures.TakeWithSockets())
        {
            WindowPerSecond = _lanes[0].WindowPerSecond,
        };
    }

    private Task SendAllAsync(SendOrder order, CancellationToken cancellationToken)
    {
        if (order.AtATime is not { } count)
            return Task.WhenAll(_lanes.Select(lane => Task.Run(() => SendOneAsync(lane, order, cancellationToken))));
        var some = new ParallelOptions { MaxDegreeOfParallelism = count, CancellationToken = cancellationToken };
        return Parallel.ForEachAsync(_lanes, some, async (lane, token) => await SendOneAsync(lane, order, token));
    }

    private async Task SendOneAsync(SendLane lane, SendOrder order, CancellationToken cancellationToken)
    {
        ISender sender = order.Rate is { } rate
            ? new PacedSender((double)rate / _lanes.Length, order.Seconds)
            : Senders.Create(_order!);
        await sender.SendAsync(lane, cancellationToken);
        await lane.Producer.FlushAsync(cancellationToken);
    }
}
