using EQueue.Cli.Output;
using EQueue.Client;

namespace EQueue.Cli.Sending;

/// <summary>The sends that are under way, in order: many at once, never more than the window holds.</summary>
/// <remarks>Used by one task. Each send is awaited exactly once, here.</remarks>
internal sealed class SendWindow(int size, ReceiptWriter? receipts)
{
    private readonly Queue<ValueTask<SendReceipt>> _underWay = new();

    /// <summary>Messages that are stored.</summary>
    public long Stored { get; private set; }

    /// <summary>Messages that are not, although they were sent.</summary>
    public long Failed { get; private set; }

    /// <summary>Why the first of them is not.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>Takes a send in; waits for the oldest ones while the window is full.</summary>
    public async ValueTask AddAsync(ValueTask<SendReceipt> send)
    {
        _underWay.Enqueue(send);
        while (_underWay.TryPeek(out ValueTask<SendReceipt> oldest) && (oldest.IsCompleted || _underWay.Count >= size))
            await TakeAsync();
    }

    /// <summary>Waits for everything that is under way.</summary>
    public async ValueTask CompleteAsync()
    {
        while (_underWay.Count > 0) await TakeAsync();
    }

    private async ValueTask TakeAsync()
    {
        try
        {
            SendReceipt receipt = await _underWay.Dequeue();
            Stored++;
            receipts?.Write(receipt);
        }
        catch (Exception exception) when (exception is Protocol.EQueueException or OperationCanceledException)
        {
            Failed++;
            Failure ??= exception;
        }
    }
}
