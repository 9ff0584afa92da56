using System.Threading.Channels;
using EQueue.Cli.Output;

namespace EQueue.Cli.Sending;

/// <summary>The sends that are under way, in order: many at once, never more than the window holds.</summary>
/// <remarks>
/// One task adds; another, started here, awaits each send exactly once and shows its receipt, so that receipts appear
/// while the first one waits for its next message.
/// </remarks>
internal sealed class SendWindow
{
    private readonly Channel<ValueTask<SendReceipt>> _underWay;
    private readonly ReceiptWriter? _receipts;
    private readonly Task _taking;
    private volatile bool _hasFailed;

    public SendWindow(int size, ReceiptWriter? receipts)
    {
        _receipts = receipts;
        _underWay = Channel.CreateBounded<ValueTask<SendReceipt>>(
            new BoundedChannelOptions(size) { SingleReader = true, SingleWriter = true });
        _taking = RunAsync();
    }

    /// <summary>Messages that are stored; settled after <see cref="CompleteAsync"/>, like the rest.</summary>
    public long Stored { get; private set; }

    /// <summary>Messages that are not, although they were sent.</summary>
    public long Failed { get; private set; }

    /// <summary>Of these, those that had left when the producer was closed: they may be stored all the same.</summary>
    public long Unknown { get; private set; }

    /// <summary>Whether the producer was closed before all of them were acknowledged.</summary>
    public bool WasClosed { get; private set; }

    /// <summary>Why the first of them is not.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>Whether a send is known to have failed; may be asked at any time.</summary>
    public bool HasFailed => _hasFailed;

    /// <summary>Takes a send in; waits for the oldest ones while the window is full.</summary>
    public ValueTask AddAsync(ValueTask<SendReceipt> send)
    {
        if (send.IsFaulted)
            _hasFailed = true;
        return _underWay.Writer.WriteAsync(send);
    }

    /// <summary>Waits for everything that is under way.</summary>
    public async ValueTask CompleteAsync()
    {
        _underWay.Writer.TryComplete();
        await _taking;
    }

    private async Task RunAsync()
    {
        try
        {
            while (await _underWay.Reader.WaitToReadAsync())
            {
                while (_underWay.Reader.TryRead(out ValueTask<SendReceipt> send))
                    await TakeAsync(send);
                _receipts?.Flush();
            }
        }
        catch (Exception exception)
        {
            // The receipts' reader has gone: a thread that adds must not wait for room that will not come.
            _underWay.Writer.TryComplete(exception);
            throw;
        }
    }

    private async ValueTask TakeAsync(ValueTask<SendReceipt> send)
    {
        if (!send.IsCompleted)
            _receipts?.Flush();
        SendReceipt receipt;
        try
        {
            receipt = await send;
        }
        catch (Exception exception)
            when (exception is EQueueException or OperationCanceledException or ObjectDisposedException)
        {
            _hasFailed = true;
            Failed++;
            if (exception is ProducerClosedException { MayBeStored: true })
                Unknown++;
            WasClosed |= exception is ObjectDisposedException;
            Failure ??= exception;
            return;
        }

        Stored++;
        _receipts?.Write(receipt);
    }
}
