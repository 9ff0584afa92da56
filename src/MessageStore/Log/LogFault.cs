using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>The latch: why the log takes no more. The first failure stays; every waiter is told it, every later append
/// is refused, reads of what is visible are served on.</summary>
/// <remarks>
/// Any thread latches. The reason is set under the log's lock, so that no append is staged behind it; the writer and
/// the flusher latch before they give up their own lock, so that no other write or sync follows the one that failed.
/// </remarks>
/// <param name="gate">The log's lock.</param>
/// <param name="disk">Is asked whether the files are still where they were.</param>
/// <param name="directory">Where the log's files are.</param>
/// <param name="segments">The file that is being written.</param>
/// <param name="incoming">Waiters that no thread has taken yet: they are failed here.</param>
/// <param name="room">Those that wait for room.</param>
/// <param name="signals">The threads that are to end.</param>
/// <param name="logger">Is told once.</param>
internal sealed class LogFault(
    Lock gate,
    IDisk disk,
    string directory,
    SegmentChain segments,
    IncomingWaiters incoming,
    RoomWaiters room,
    LogSignals signals,
    ILogger logger) : IDisposable
{
    private readonly TaskCompletionSource _completion = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly CancellationTokenSource _stopping = new();
    private Exception? _reason;
    private bool _isClosing;
    private volatile bool _isDeposed;

    /// <summary>Why the log takes no more; null while it does, or closes in order.</summary>
    public Exception? Reason => Volatile.Read(ref _reason);

    /// <summary>Completes when the log is closed, faults when it failed.</summary>
    public Task Completion => _completion.Task;

    /// <summary>Whether the log takes no more because it is being closed; under the log's lock.</summary>
    public bool IsClosing => _isClosing;

    /// <summary>Whether it takes no more for either reason; under the log's lock.</summary>
    public bool IsEnding => _reason is not null || _isClosing;

    /// <summary>Whether the threads are to end, and retries are over.</summary>
    public bool IsStopping => _stopping.IsCancellationRequested;

    /// <summary>Ends the log for a failure; the first one counts.</summary>
    public void Latch(Exception exception)
    {
        // Whichever call met it first.
        string place = IsPlaceGone() ? "the data directory was removed or moved while the store was running; " : "";
        var fault = new EQueueException(
            ErrorCode.StoreFaulted,
            $"The store in {directory} failed and takes no more: {place}{exception.Message}", exception);
        if (TryEnd(fault, out WaiterQueue waiters))
        {
            Log.StoreFaulted(logger, exception, directory);
            _completion.TrySetException(fault);
            Tell(waiters, fault);
        }
    }

    /// <summary>Ends the log of a leader whose epoch is over.</summary>
    /// <returns>False when it had ended before.</returns>
    public bool TryDepose(EQueueException fault)
    {
        _isDeposed = true;
        if (!TryEnd(fault, out WaiterQueue waiters))
            return false;
        Tell(waiters, fault);
        return true;
    }

    /// <summary>Has the log take no more and its threads finish what is there.</summary>
    public void Close()
    {
        lock (gate)
            _isClosing = true;
        room.TellAll();
        _stopping.Cancel();
        signals.Writer.Raise();
        signals.Preparer.Raise();
    }

    /// <summary>Lets some time pass before a call is tried again; ends at once when the log closes.</summary>
    public void WaitToRetry(TimeSpan interval) => _stopping.Token.WaitHandle.WaitOne(interval);

    /// <summary>Bytes written into a file without a name are acknowledged and lost: a data directory that is removed or
    /// moved under a running store ends it.</summary>
    public bool IsPlaceGone()
    {
        if (segments.Writing is not { PreparedPath: null, IsSealed: false } writing)
            return false;
        try
        {
            return !disk.Exists(writing.Path) || writing.File is { IsUnlinked: true };
        }
        catch (DiskException)
        {
            // A disk that does not answer says nothing about the place; what failed first is told.
            return false;
        }
    }

    /// <summary>The log is closed.</summary>
    public void Dispose()
    {
        _stopping.Dispose();
        if (Reason is null || _isDeposed)
            _completion.TrySetResult();
    }

    private bool TryEnd(EQueueException fault, out WaiterQueue waiters)
    {
        waiters = default;
        lock (gate)
        {
            if (_reason is not null)
                return false;
            Volatile.Write(ref _reason, fault);
            waiters = incoming.TakeAll();
            return true;
        }
    }

    private void Tell(WaiterQueue waiters, EQueueException fault)
    {
        waiters.Fail(fault);
        signals.Progress.Note();
        room.TellAll();
        signals.Writer.Raise();
        signals.Flusher.Raise();
        signals.Preparer.Raise();
    }
}
