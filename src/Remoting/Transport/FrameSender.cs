using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace EQueue.Remoting;

/// <summary>Queues frames and writes them to a wire: the sending thread takes along everything that is
/// queued.</summary>
/// <remarks>
/// Thread-safe. One drain runs at a time, on the thread that started it until the wire is full, on the thread pool or
/// one of the poller's afterwards. The queue is bounded by its users, who wait for <see cref="WhenWritable"/>.
/// </remarks>
internal sealed partial class FrameSender : IThreadPoolWorkItem, IAttended
{
    private const int SliceBytes = 256 * 1024;
    private const int MaxInlineRounds = 2;
    private const int GatheredBytes = 128 * 1024;
    private const int LateFrames = 400;

    private readonly Wire _wire;
    private readonly int _maxQueuedBytes;
    private readonly TimeProvider _time;
    private readonly Action<Exception> _onFailed;
    private readonly bool _callersHelp;
    private readonly Gate _gate;
    private readonly FrameQueue _queue = new();
    private SendAccount _account;
    private List<FrameBuffer> _batch = [];
    private TaskCompletionSource? _writable;
    private TaskCompletionSource? _idle;
    private long _queuedBytes;
    private long _stalledSince;
    private DrainState _drain;
    private int _waitingFrames;
    private bool _isAtPool;
    private bool _isClosed;

    /// <param name="wire">Connected; aborted by its owner, which ends a pending send.</param>
    /// <param name="maxQueuedBytes">Above this the queue does not count as writable.</param>
    /// <param name="time">Measures how long the wire has taken nothing.</param>
    /// <param name="onFailed">Called once when the wire refuses; must close the connection.</param>
    /// <param name="callersHelp">Whether a caller that has queued much sends in the place of a thread that does not
    /// come to it: the pool's, whose drain is taken over, or the attendant's.</param>
    /// <param name="gate">Guards the queue, for <see cref="Queue"/>.</param>
    /// <param name="budget">Bounds what all senders of a server have queued; null = nothing does.</param>
    public FrameSender(
        Wire wire, int maxQueuedBytes, TimeProvider time, Action<Exception> onFailed, bool callersHelp, Gate gate,
        SendBudget? budget = null)
    {
        _account = new SendAccount(budget);
        _callersHelp = callersHelp;
        _gate = gate;
        _wire = wire;
        _maxQueuedBytes = maxQueuedBytes;
        _time = time;
        _onFailed = onFailed;
    }

    /// <summary>Bytes that are accepted and not yet taken by the socket.</summary>
    public long QueuedBytes => Volatile.Read(ref _queuedBytes) + Volatile.Read(ref _heldBytes);

    /// <summary>Whether callers may queue more without waiting; a closed sender says so by refusing.</summary>
    public bool IsWritable => QueuedBytes <= AllowedBytes || Volatile.Read(ref _isClosed);

    /// <summary>The same for calls, of which there are so many at most as wait for answers at a time: they may fill
    /// twice as much, so that they neither wait as soon as they are many nor behind requests that nothing else
    /// bounds.</summary>
    public bool IsWritableForCalls => QueuedBytes <= 2L * _maxQueuedBytes || Volatile.Read(ref _isClosed);

    /// <summary>How long the wire has taken nothing although there is something to send.</summary>
    public TimeSpan StalledFor
    {
        get
        {
            long since = Volatile.Read(ref _stalledSince);
            return since == 0 ? TimeSpan.Zero : _time.GetElapsedTime(since);
        }
    }

    private int AllowedBytes => _account.Allow(_maxQueuedBytes);

    /// <summary>Takes over a sealed frame.</summary>
    /// <param name="frame">Owned by the sender from here on, also when it is closed.</param>
    /// <param name="inline">Send on this thread if no other thread is sending; while corked, leave it to the one who
    /// uncorks.</param>
    /// <returns><see langword="false"/> when the sender is closed and the frame was dropped.</returns>
    public bool Enqueue(FrameBuffer frame, bool inline)
    {
        Queued queued;
        using (_gate.Enter())
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
        using (_gate.Enter())
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
        if (queued == Queued.ToRelieve)
            Observe(SendAttendedAsync());
        if (queued is Queued.ToSend or Queued.ToSchedule)
            Start(inline: queued == Queued.ToSend);
    }

    /// <summary>Completes when more may be queued, or when the sender is closed.</summary>
    public ValueTask WhenWritable()
    {
        if (IsWritable)
            return ValueTask.CompletedTask;
        Task writable = Task.CompletedTask;
        using (_gate.Enter())
        {
            if (!_isClosed && _queuedBytes > AllowedBytes)
            {
                _writable ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                writable = _writable.Task;
            }
        }

        return new ValueTask(writable);
    }

    /// <summary>Completes when everything has been taken by the wire or dropped, and no buffer is in use.</summary>
    public Task WhenIdle()
    {
        Task idle = Task.CompletedTask;
        using (_gate.Enter())
        {
            if (_drain != DrainState.None || !_queue.IsEmpty)
            {
                _idle ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                idle = _idle.Task;
            }
        }

        return idle;
    }

    /// <summary>Drops what is queued and refuses the rest. The wire's owner aborts the wire as well.</summary>
    public void Close()
    {
        using (_gate.Enter())
        {
            _isClosed = true;
            DropQueued();
            SignalWritable();
            if (_drain == DrainState.None)
                EndDrain();
        }
    }

    /// <summary>Drains on the thread pool.</summary>
    void IThreadPoolWorkItem.Execute()
    {
        using (_gate.Enter())
        {
            _isAtPool = false;
            if (_drain != DrainState.Scheduled)
                return;
            _drain = DrainState.Running;
        }

        Observe(DrainAsync(inline: false));
    }

    /// <summary>A drain handles its own errors and never faults; <see cref="WhenIdle"/> tells its end.</summary>
    private static void Observe(Task drain) => Debug.Assert(!drain.IsFaulted, "A drain must not fault.");

    /// <summary>So many bytes were queued: what is left to do for them. Under the gate.</summary>
    private Queued Accept(int bytes, bool inline)
    {
        _queuedBytes += bytes;
        _account.Count(_queuedBytes);
        if (_isAttended)
            return MustRelieve(bytes) ? Queued.ToRelieve : Queued.Accepted;
        inline |= MustHelp(bytes);
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
            while (TakeBatch(isAttendant: false))
            {
                await SendBatchAsync(_batch).ConfigureAwait(false);
                if (!inline)
                    Gather(GatheredBytes);
                if ((!inline || ++rounds < MaxInlineRounds) && !PollerThread.MustGiveWay)
                    continue;

                // A thread that came to send one frame must not serve the others without end, nor one of the poller's.
                bool isNew;
                using (_gate.Enter())
                    isNew = TrySchedule();
                if (isNew)
                    Start(inline: false);
                return;
            }
        }
        catch (Exception exception)
        {
            Fail(exception);
        }
    }

    /// <summary>Whether a caller that queues so many bytes takes over a drain for which the pool has no thread: many
    /// frames were queued since, so it is late. What comes in large frames has its own rhythm. Under the
    /// gate.</summary>
    private bool MustHelp(int bytes) => _callersHelp
        && _drain == DrainState.Scheduled && bytes <= FrameQueue.SmallFrameBytes && ++_waitingFrames >= LateFrames;

    /// <summary>Something was queued: whether the caller is to start a drain. Under the gate.</summary>
    private bool MustStart(bool inline)
    {
        if (!inline)
            return _drain == DrainState.None && TrySchedule();
        if (_corkedBy != 0 || _drain == DrainState.Running)
            return false;
        _drain = DrainState.Running;
        return true;
    }

    /// <summary>Leaves the drain to the pool. Under the gate.</summary>
    /// <returns>False when the pool still has the work item of one that was taken over.</returns>
    private bool TrySchedule()
    {
        _drain = DrainState.Scheduled;
        _waitingFrames = 0;
        if (_isAtPool)
            return false;
        _isAtPool = true;
        return true;
    }

    /// <summary>Takes what is queued, the attendant one piece of it, or ends the drain: as soon as there is an
    /// attendant all is his.</summary>
    private bool TakeBatch(bool isAttendant)
    {
        using (_gate.Enter())
        {
            if (isAttendant || !_isAttended)
            {
                if (isAttendant)
                    _queue.TakeFirst(_batch);
                else
                    _batch = _queue.Take(_batch);
                if (_batch.Count > 0)
                    return true;
            }

            EndDrain();
            return false;
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

        using (_gate.Enter())
        {
            _isClosed = true;
            _batch.Clear();
            _queuedBytes -= unsentBytes;
            DropQueued();
            SignalWritable();
            EndDrain();
        }

        _onFailed(exception);
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
        using (_gate.Enter())
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
                ValueTask<int> sending = _wire.SendAsync(slice);
                if (!sending.IsCompleted && _stalledSince == 0)
                    Volatile.Write(ref _stalledSince, _time.GetTimestamp());
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
        _drain = DrainState.None;
        if (!_queue.IsEmpty)
            return;
        _idle?.TrySetResult();
        _idle = null;
    }
}
