using EQueue.Load.Measuring;

namespace EQueue.Load.Sending;

/// <summary>Receipts that are awaited in the order of their sends, a fixed number of them outstanding.</summary>
internal sealed class ReceiptRing<T>(int capacity, LatencyHistogram ack)
{
    private readonly ValueTask<T>[] _receipts = new ValueTask<T>[capacity];
    private readonly Stack<TimedReceipt<T>> _free = new();
    private int _next;
    private int _count;

    public bool IsFull => _count == capacity;

    /// <summary>Adds a send; there must be room.</summary>
    public void Add(ValueTask<T> receipt, long startNs)
    {
        if (startNs == 0)
        {
            _receipts[_next] = receipt;
        }
        else
        {
            TimedReceipt<T> timed = _free.TryPop(out TimedReceipt<T>? used) ? used : new TimedReceipt<T>(ack, _free);
            _receipts[_next] = new ValueTask<T>(timed, timed.Start(receipt, startNs));
        }

        _next = _next + 1 == capacity ? 0 : _next + 1;
        _count++;
    }

    /// <summary>The oldest receipt, which is then no longer outstanding.</summary>
    public ValueTask<T> TakeOldest()
    {
        int oldest = _next - _count;
        _count--;
        return _receipts[oldest < 0 ? oldest + capacity : oldest];
    }

    /// <summary>Awaits all that are left.</summary>
    public async Task DrainAsync()
    {
        while (_count > 0)
            await TakeOldest();
    }
}
