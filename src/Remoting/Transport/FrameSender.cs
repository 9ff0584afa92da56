using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace EQueue.Remoting;

/// <summary>Queues frames and writes them to a wire: the sending thread takes along all that is queued.</summary>
/// <remarks>
/// <para>Thread-safe. One drain runs at a time, on the thread that started it for two rounds or until the wire is full,
/// on the thread pool or one of the poller's afterwards. The queue is bounded by its users, who wait for
/// <see cref="WhenWritable"/>.</para>
/// <para>While a receive loop handles what came together it has the sender corked: its answers gather without a lock
/// and leave together.</para>
/// </remarks>
/// <param name="wire">Connected; aborted by its owner, which ends a pending send.</param>
/// <param name="maxQueuedBytes">Above this the queue does not count as writable.</param>
/// <param name="time">Measures how long the wire has taken nothing.</param>
/// <param name="onFailed">Called once when the wire refuses; must close the connection.</param>
/// <param name="gate">Guards the queue, for <see cref="Queue"/>.</param>
/// <param name="budget">Bounds what all senders of a server have queued; null = nothing does.</param>
internal sealed class FrameSender(
    Wire wire, int maxQueuedBytes, TimeProvider time, Action<Exception> onFailed, Gate gate, SendBudget? budget = null)
    : IThreadPoolWorkItem
{
    private const int SliceBytes = 256 * 1024;
    private const int MaxInlineRounds = 2;

    private readonly FrameQueue _queue = new();
    private readonly CorkedFrames _corked = new();
    private SendAccount _account = new(budget);
    private List<FrameBuffer> _batch = [];
    private TaskCompletionSource? _writable;
    private TaskCompletionSource? _idle;
    private long _queuedBytes;
    private long _stalledSince;
    private DrainState _drain;
    private bool _isClosed;

    /// <summary>Bytes that are accepted and not yet taken by the socket.</summary>
    public long QueuedBytes => Volatile.Read(ref _queuedBytes) + _corked.Bytes;

    /// <summary>Whether callers may queue more without waiting; a closed sender says so by refusing.</summary>
    public bool IsWritable => QueuedBytes <= AllowedBytes || Volatile.Read(ref _isClosed);

    /// <summary>The same for calls, of which there are so many at most as wait for answers at a time: they may fill
    /// twice as much, so that they neither wait as soon as they are many nor behind requests that nothing else
    /// bounds.</summary>
    public bool IsWritableForCalls => QueuedBytes <= 2L * maxQueuedBytes || Volatile.Read(ref _isClosed);

    /// <summary>Whether the calling thread has corked it: then it may <see cref="Hold"/>.</summary>
    public bool IsCorkedHere => _corked.IsCorkedHere;

    /// <summary>How long the wire has taken nothing although there is something to send.</summary>
    public TimeSpan StalledFor
    {
        get
        {
            long since = Volatile.Read(ref _stalledSince);
            return since == 0 ? TimeSpan.Zero : time.GetElapsedTime(since);
        }
    }

    private int AllowedBytes => _account.Allow(maxQueuedBytes);

    /// <summary>Takes over a sealed frame.</summary>
    /// <param name="frame">Owned by the sender from here on, also when it is closed.</param>
    /// <param name="inline">Send on this thread if no other thread is sending; while corked, leave it to the one who
    /// uncorks.</param>
    /// <returns><see langword="false"/> when the sender is closed and the frame was dropped.</returns>
    public bool Enqueue(FrameBuffer frame, bool inline)
    {
        Queued queued;
        using (gate.Enter())
        {
            if (_isClosed)
            {
                frame.Dispose();
                return false;
            }

            QueueHeld();
            int bytes = frame.FrameBytes;
            _queue.Add(frame);
            queued = Accept(bytes, inline);
        }

        Follow(queued);
        return true;
    }

    /// <summary>Copies a frame of at most <see cref="FrameQueue.SmallFrameBytes"/> to where it leaves from.</summary>
    /// <param name="header">The frame's.</param>
    /// <param name="payload">Nothing of it is kept.</param>
    /// <param name="inline">As for a frame that is taken over.</param>
    /// <returns><see langword="false"/> when the sender is closed.</returns>
    public bool Enqueue(in FrameHeader header, ReadOnlySpan<byte> payload, bool inline)
    {
        Queued queued;
        using (gate.Enter())
            queued = Queue(header, payload, inline);
        Follow(queued);
        return queued != Queued.Refused;
    }

    /// <summary>The same under the gate; <see cref="Follow"/> comes behind it.</summary>
    public Queued Queue(in FrameHeader header, ReadOnlySpan<byte> payload, bool inline)
    {
        if (_isClosed)
            return Queued.Refused;
        QueueHeld();
        _queue.Append(header, payload);
        return Accept((int)header.Length, inline);
    }

    /// <summary>Does what is left to do once the gate is open.</summary>
    public void Follow(Queued queued)
    {
        if (queued is Queued.ToSend or Queued.ToSchedule)
            Start(inline: queued == Queued.ToSend);
    }

    /// <summary>Holds inline frames back until <see cref="Uncork"/>. Only the receive loop corks.</summary>
    public void Cork()
    {
        using (gate.Enter())
            _corked.Cork();
    }

    /// <summary>Copies a small frame behind those that the thread which has corked holds back, outside the gate; what
    /// it queues otherwise leaves behind them.</summary>
    public void Hold(in FrameHeader header, ReadOnlySpan<byte> payload) => _corked.Add(header, payload);

    /// <summary>Sends what was held back, on this thread.</summary>
    public void Uncork()
    {
        using (gate.Enter())
        {
            QueueHeld();
            _corked.Uncork();
            if (_isClosed)
                DropQueued();
            if (_queue.IsEmpty || !MustStart(inline: true))
                return;
        }

        Start(inline: true);
    }

    /// <summary>Completes when more may be queued, or when the sender is closed.</summary>
    public ValueTask WhenWritable()
    {
        if (IsWritable)
            return ValueTask.CompletedTask;
        Task writable = Task.CompletedTask;
        using (gate.Enter())
        {
            if (!_isClosed && _queuedBytes > AllowedBytes)
                writable = (_writable ??= NewSignal()).Task;
        }

        return new ValueTask(writable);
    }

    /// <summary>Completes when everything has been taken by the wire or dropped, and no buffer is in use.</summary>
    public Task WhenIdle()
    {
        Task idle = Task.CompletedTask;
        using (gate.Enter())
        {
            if (_drain != DrainState.None || !_queue.IsEmpty)
                idle = (_idle ??= NewSignal()).Task;
        }

        return idle;
    }

    /// <summary>Drops what is queued and refuses the rest. The wire's owner aborts the wire as well.</summary>
    public void Close()
    {
        using (gate.Enter())
        {
            _isClosed = true;
            DropQueued();
            SignalWritable();
            if (_drain == DrainState.None)
                EndDrain();
        }
    }

    /// <summary>Drains on the thread pool, unless a caller that sends at once was earlier.</summary>
    void IThreadPoolWorkItem.Execute()
    {
        using (gate.Enter())
        {
            if (_drain != DrainState.Scheduled)
                return;
            _drain = DrainState.Running;
        }

        Observe(DrainAsync(inline: false));
    }

    private static TaskCompletionSource NewSignal() => new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>A drain handles its own errors and never faults; <see cref="WhenIdle"/> tells its end.</summary>
    private static void Observe(Task drain) => Debug.Assert(!drain.IsFaulted, "A drain must not fault.");

    /// <summary>So many bytes were queued: what is left to do for them. Under the gate.</summary>
    private Queued Accept(int bytes, bool inline)
    {
        _queuedBytes += bytes;
        _account.Count(_queuedBytes);
        if (!MustStart(inline))
            return Queued.Accepted;
        return inline ? Queued.ToSend : Queued.ToSchedule;
    }

    private void Start(bool inline)
    {
        if (inline)
            Observe(DrainAsync(inline: true));
        else
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    private async Task DrainAsync(bool inline)
    {
        try
        {
            int rounds = 0;
            while (TryTakeBatch())
            {
                await SendBatchAsync(_batch).ConfigureAwait(false);
                if ((!inline || ++rounds < MaxInlineRounds) && !PollerThread.MustGiveWay)
                    continue;

                // A thread that came to send one frame must not serve the others without end, nor one of the poller's.
                using (gate.Enter())
                    _drain = DrainState.Scheduled;
                Start(inline: false);
                return;
            }
        }
        catch (Exception exception)
        {
            Fail(exception);
        }
    }

    /// <summary>Something was queued: whether the caller is to start a drain. Under the gate.</summary>
    private bool MustStart(bool inline)
    {
        if (inline ? _corked.IsCorked || _drain == DrainState.Running : _drain != DrainState.None)
            return false;
        _drain = inline ? DrainState.Running : DrainState.Scheduled;
        return true;
    }

    /// <summary>Puts what the calling thread holds back behind what is queued. Under the gate.</summary>
    private void QueueHeld()
    {
        long bytes = _corked.MoveTo(_queue);
        if (bytes == 0)
            return;
        _queuedBytes += bytes;
        _account.Count(_queuedBytes);
    }

    /// <summary>Takes what is queued, or ends the drain.</summary>
    private bool TryTakeBatch()
    {
        using (gate.Enter())
        {
            _batch = _queue.Take(_batch);
            if (_batch.Count == 0)
                EndDrain();
            return _batch.Count > 0;
        }
    }

    private void Fail(Exception exception)
    {
        long unsentBytes = 0;
        foreach (FrameBuffer frame in _batch)
        {
            unsentBytes += frame.FrameBytes;
            frame.Dispose();
        }

        using (gate.Enter())
        {
            _isClosed = true;
            _batch.Clear();
            _queuedBytes -= unsentBytes;
            DropQueued();
            SignalWritable();
            EndDrain();
        }

        onFailed(exception);
    }

    /// <summary>Sends the buffers in order; what was sent is taken out of the list and the accounting, and let go
    /// of.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private async ValueTask SendBatchAsync(List<FrameBuffer> batch)
    {
        int sent = 0;
        try
        {
            while (sent < batch.Count)
            {
                await SendAsync(batch[sent].Frame).ConfigureAwait(false);
                Release(batch[sent++]);
            }
        }
        finally
        {
            batch.RemoveRange(0, sent);
        }
    }

    private void Release(FrameBuffer sent)
    {
        int bytes = sent.FrameBytes;
        sent.Dispose();
        using (gate.Enter())
        {
            _queuedBytes -= bytes;
            _account.Count(_queuedBytes);
            if (_queuedBytes <= AllowedBytes / 2)
                SignalWritable();
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private async ValueTask SendAsync(ReadOnlyMemory<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            ReadOnlyMemory<byte> slice = bytes[..Math.Min(bytes.Length, SliceBytes)];
            bytes = bytes[slice.Length..];
            while (!slice.IsEmpty)
            {
                ValueTask<int> sending = wire.SendAsync(slice);
                if (!sending.IsCompleted && _stalledSince == 0)
                    Volatile.Write(ref _stalledSince, time.GetTimestamp());
                slice = slice[await sending.ConfigureAwait(false)..];
            }

            Volatile.Write(ref _stalledSince, 0);
        }
    }

    private void DropQueued()
    {
        _queuedBytes -= _queue.Drop();
        _account.Count(_queuedBytes);
    }

    private void SignalWritable()
    {
        _writable?.TrySetResult();
        _writable = null;
    }

    private void EndDrain()
    {
        Debug.Assert(_queue.IsEmpty, "A drain ends when nothing is queued.");
        _drain = DrainState.None;
        _idle?.TrySetResult();
        _idle = null;
    }

    /// <summary>What became of a frame.</summary>
    internal enum Queued
    {
        /// <summary>Dropped: the sender is closed.</summary>
        Refused,

        /// <summary>It leaves with others.</summary>
        Accepted,

        /// <summary>This thread is to send it.</summary>
        ToSend,

        /// <summary>The pool is to send it.</summary>
        ToSchedule,
    }

    private enum DrainState
    {
        None,

        /// <summary>The thread pool is to begin it.</summary>
        Scheduled,
        Running,
    }
}
