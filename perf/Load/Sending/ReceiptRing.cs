using EQueue.Client;
using EQueue.Load.Measuring;

namespace EQueue.Load.Sending;

/// <summary>Receipts that are awaited in the order of their sends, a fixed number of them outstanding.</summary>
internal sealed class ReceiptRing(int capacity, LatencyHistogram ack)
{
    private readonly ValueTask<SendReceipt>[] _receipts = new ValueTask<SendReceipt>[capacity];
    private int _next;
    private int _count;

    public bool IsFull => _count == capacity;

    /// <summary>Adds a send; there must be room.</summary>
    public void Add(ValueTask<SendReceipt> receipt, long startNs)
    {
        _receipts[_next] = startNs == 0 ? receipt : new ValueTask<SendReceipt>(TimeAsync(receipt, startNs));
        _next = _next + 1 == capacity ? 0 : _next + 1;
        _count++;
    }

    /// <summary>The oldest receipt, which is then no longer outstanding.</summary>
    public ValueTask<SendReceipt> TakeOldest()
    {
        var oldest = _next - _count;
        _count--;
        return _receipts[oldest < 0 ? oldest + capacity : oldest];
    }

    /// <summary>Awaits all that are left.</summary>
    public async Task DrainAsync()
    {
        while (_count > 0)
            await TakeOldest();
    }

    private async Task<SendReceipt> TimeAsync(ValueTask<SendReceipt> send, long startNs)
    {
        var receipt = await send;
        ack.Record(Clock.NowNs - startNs);
        return receipt;
    }
}
