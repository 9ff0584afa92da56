using System.Threading.Tasks.Sources;

namespace EQueue.Client;

/// <summary>
/// A send that waits, without a thread, until a batch can take its message: for the topic's route or for memory.
/// </summary>
/// <remarks>
/// All that a waiting send costs is this object and one copy of its message. Until it is admitted the caller's token
/// and its deadline end the wait; from then on its batch settles it.
/// </remarks>
internal sealed class WaitingSend : LineEntry, IValueTaskSource<SendReceipt>
{
    private const int Waiting = 0;
    private const int Admitting = 1;
    private const int Over = 2;

    private static readonly SendCallback Settle =
        static (state, receipt, error) => ((WaitingSend)state!).Complete(receipt, error);

    private readonly SendLines _lines;
    private readonly SendCallback? _callback;
    private readonly object? _state;
    private MessageCopy _message;
    private ManualResetValueTaskSourceCore<SendReceipt> _outcome;
    private readonly CancellationTokenRegistration _ending;
    private int _phase;

    /// <param name="lines">Those of the topic.</param>
    /// <param name="message">Copied already.</param>
    /// <param name="callback">Told of the outcome instead of an awaiter; null for an awaiter.</param>
    /// <param name="state">For the callback.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    public WaitingSend(
        SendLines lines,
        in MessageCopy message,
        SendCallback? callback,
        object? state,
        CancellationToken cancellationToken)
    {
        _lines = lines;
        lines.BeginWait();
        _message = message;
        IsKeyed = message.Content.Key.HasValue;
        _callback = callback;
        _state = state;
        Deadline = lines.Terms.Time.After(lines.Terms.Options.DeliveryTimeout);
        _ending = cancellationToken.UnsafeRegister(
            static (send, token) => ((WaitingSend)send!).Fail(Faults.Cancelled(token)), this);
    }

    /// <summary>When it gives up, by the producer's clock.</summary>
    public long Deadline { get; }

    /// <summary>Whether its queue is chosen by key.</summary>
    public bool IsKeyed { get; }

    /// <summary>Whether it was admitted or has failed.</summary>
    public bool IsOver => Volatile.Read(ref _phase) == Over;

    /// <summary>Of its awaitable.</summary>
    public short Token => _outcome.Version;

    public ValueTask<SendReceipt> ToValueTask() => new(this, Token);

    /// <summary>Puts the message into a batch if that needs no waiting. By the line alone.</summary>
    /// <returns>Whether its wait is over, one way or the other.</returns>
    public bool TryAdmit()
    {
        if (Interlocked.CompareExchange(ref _phase, Admitting, Waiting) != Waiting)
            return true;
        bool isAdmitted;
        try
        {
            isAdmitted = _lines.Topic.TryAppendNow(
                _message.Content, _callback ?? Settle, _callback is null ? this : _state);
        }
        catch (Exception exception)
        {
            Volatile.Write(ref _phase, Waiting);
            Fail(exception switch
            {
                // It was taken before the producer closed: it is told what all are told that were.
                EQueueException { Code: ErrorCode.Disposed } => Faults.Closed(mayBeStored: false),
                EQueueException known => known,
                _ => new EQueueException(ErrorCode.InternalError, exception.Message, exception),
            });
            return true;
        }

        if (isAdmitted)
        {
            Volatile.Write(ref _phase, Over);
            _message = default;
            _ending.Unregister();
            _lines.EndWait();
            return true;
        }

        Volatile.Write(ref _phase, Waiting);
        Interlocked.MemoryBarrier();
        if (_ending.Token.IsCancellationRequested)
            Fail(Faults.Cancelled(_ending.Token));
        return IsOver;
    }

    /// <summary>Ends the wait with an error; does nothing when it is over.</summary>
    public void Fail(EQueueException error)
    {
        if (Interlocked.CompareExchange(ref _phase, Over, Waiting) != Waiting)
            return;
        _message = default;
        _ending.Unregister();
        _lines.EndWait();
        if (_callback is null)
        {
            // A thread that ends waits must not run their continuations.
            _outcome.RunContinuationsAsynchronously = true;
            _outcome.SetException(PublicCall.Anew(error));
            return;
        }

        _lines.Terms.BeginTelling();
        ThreadPool.UnsafeQueueUserWorkItem(
            static told => told.Send.Tell(told.Error), (Send: this, Error: error), preferLocal: false);
    }

    /// <inheritdoc/>
    SendReceipt IValueTaskSource<SendReceipt>.GetResult(short token) => _outcome.GetResult(token);

    /// <inheritdoc/>
    ValueTaskSourceStatus IValueTaskSource<SendReceipt>.GetStatus(short token) => _outcome.GetStatus(token);

    /// <inheritdoc/>
    void IValueTaskSource<SendReceipt>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _outcome.OnCompleted(continuation, state, token, flags);

    private void Complete(SendReceipt receipt, EQueueException? error)
    {
        if (error is null)
            _outcome.SetResult(receipt);
        else
            _outcome.SetException(PublicCall.Anew(error));
    }

    private void Tell(EQueueException error)
    {
        try
        {
            _callback!(_state, default, error);
        }
        catch (Exception exception)
        {
            Log.CallbackThrew(_lines.Terms.Logger, exception);
        }
        finally
        {
            _lines.Terms.EndTelling();
        }
    }
}
