namespace EQueue.Client;

/// <summary>What is sent to the target and not settled: counted, so that it can be bounded, and waited for.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class ForwardWindow : IDisposable
{
    private readonly Lock _gate = new();
    private readonly CancellationTokenSource _failed = new();
    private TaskCompletionSource? _changed;
    private EQueueException? _failure;
    private long _openBytes;
    private long _openCount;
    private long _messages;
    private long _bodyBytes;

    /// <summary>Bytes that open spans are counted for.</summary>
    public long OpenBytes => Interlocked.Read(ref _openBytes);

    /// <summary>Whether every span is settled.</summary>
    public bool IsEmpty => Interlocked.Read(ref _openCount) == 0;

    /// <summary>Messages that the target has acknowledged.</summary>
    public long Messages => Interlocked.Read(ref _messages);

    /// <summary>Bytes of their bodies.</summary>
    public long BodyBytes => Interlocked.Read(ref _bodyBytes);

    /// <summary>Why the first message that is not stored is not.</summary>
    public EQueueException? Failure => Volatile.Read(ref _failure);

    /// <summary>Cancelled at the first failure.</summary>
    public CancellationToken Failed => _failed.Token;

    public void Add(ForwardSpan span)
    {
        Interlocked.Increment(ref _openCount);
        Interlocked.Add(ref _openBytes, span.CostBytes);
    }

    /// <summary>The span is settled.</summary>
    public void Remove(ForwardSpan span)
    {
        if (span.IsDone)
        {
            Interlocked.Add(ref _messages, span.Count);
            Interlocked.Add(ref _bodyBytes, span.BodyBytes);
        }

        Interlocked.Add(ref _openBytes, -span.CostBytes);
        Interlocked.Decrement(ref _openCount);
        Tell();
    }

    /// <summary>Nothing is sent any more: what follows a message that is not stored must not overtake it.</summary>
    public void Fail(EQueueException failure)
    {
        if (Interlocked.CompareExchange(ref _failure, failure, null) is not null)
            return;
        _failed.Cancel();
        Tell();
    }

    /// <summary>
    /// Completes when a span is settled or one fails. Ask for it, look once more, then wait: so nothing is missed.
    /// </summary>
    public Task WhenChanged()
    {
        lock (_gate)
        {
            _changed ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            return _changed.Task;
        }
    }

    public void Dispose() => _failed.Dispose();

    private void Tell()
    {
        TaskCompletionSource? changed;
        lock (_gate)
        {
            changed = _changed;
            _changed = null;
        }

        changed?.TrySetResult();
    }
}
