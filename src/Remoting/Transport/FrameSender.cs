using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace EQueue.Remoting;

/// <summary>Queues frames and writes them to a wire: whoever sends takes along everything that is queued.</summary>
/// <remarks>
/// Thread-safe. One drain runs at a time, on the thread that started it until the wire is full, on the thread pool
/// afterwards. Small frames leave together in one system call. The queue is bounded by its users, who wait for
/// <see cref="WhenWritable"/>.
/// </remarks>
internal sealed class FrameSender : IThreadPoolWorkItem
{
    /// <summary>Larger frames leave from their own buffers.</summary>
    public const int SmallFrameBytes = 32 * 1024;

    private const int JoinedBytes = 128 * 1024;
    private const int SliceBytes = 256 * 1024;
    private const int MaxInlineRounds = 2;
    private const int GatheredBytes = 64 * 1024;
    private const int GatheringSpins = 40;

    private static readonly TimeSpan LongestGathering = TimeSpan.FromMicroseconds(30);

    private readonly Wire _wire;
    private readonly int _maxQueuedBytes;
    private readonly TimeProvider _time;
    private readonly Action<Exception> _onFailed;
    private readonly Lock _lock = new();
    private List<FrameBuffer> _queued = [];
    private List<FrameBuffer> _batch = [];
    private FrameBuffer? _joined;
    private TaskCompletionSource? _writable;
    private TaskCompletionSource? _idle;
    private long _queuedBytes;
    private int _recentJoinedBytes;
    private long _stalledSince;
    private bool _isCorked;
    private bool _isSending;
    private bool _isClosed;

    /// <param name="wire">Connected; aborted by its owner, which ends a pending send.</param>
    /// <param name="maxQueuedBytes">Above this the queue does not count as writable.</param>
    /// <param name="time">Measures how long the wire has taken nothing.</param>
    /// <param name="onFailed">Called once when the wire refuses; must close the connection.</param>
    public FrameSender(Wire wire, int maxQueuedBytes, TimeProvider time, Action<Exception> onFailed)
    {
        _wire = wire;
        _maxQueuedBytes = maxQueuedBytes;
        _time = time;
        _onFailed = onFailed;
    }

    /// <summary>Bytes that are accepted and not yet taken by the socket.</summary>
    public long QueuedBytes => Volatile.Read(ref _queuedBytes);

    /// <summary>Whether nobody needs to wait before queueing more; a closed sender says so by refusing.</summary>
    public bool IsWritable => QueuedBytes <= _maxQueuedBytes || Volatile.Read(ref _isClosed);

    /// <summary>How long the wire has taken nothing although there is something to send.</summary>
    public TimeSpan StalledFor
    {
        get
        {
            long since = Volatile.Read(ref _stalledSince);
            return since == 0 ? TimeSpan.Zero : _time.GetElapsedTime(since);
        }
    }

    /// <summary>Takes over a sealed frame.</summary>
    /// <param name="frame">Owned by the sender from here on, also when it is closed.</param>
    /// <param name="inline">Send on this thread if nobody is sending; while corked, leave it to the one who
    /// uncorks.</param>
    /// <returns><see langword="false"/> when the sender is closed and the frame was dropped.</returns>
    public bool Enqueue(FrameBuffer frame, bool inline)
    {
        lock (_lock)
        {
            if (_isClosed)
            {
                frame.Dispose();
                return false;
            }

            _queuedBytes += frame.FrameBytes;
            Queue(frame);
            if (!MustStart(inline)) return true;
        }

        Start(inline);
        return true;
    }

    /// <summary>Copies a frame of at most <see cref="SmallFrameBytes"/> to where it leaves from.</summary>
    /// <param name="header">The frame's.</param>
    /// <param name="payload">Nothing of it is kept.</param>
    /// <param name="inline">As for a frame that is taken over.</param>
    /// <returns><see langword="false"/> when the sender is closed.</returns>
    public bool Enqueue(in FrameHeader header, ReadOnlySpan<byte> payload, bool inline)
    {
        lock (_lock)
        {
            if (_isClosed) return false;
            int bytes = (int)header.Length;
            _queuedBytes += bytes;
            (JoinedFor(bytes) ?? BeginJoined(bytes)).Append(header, payload);
            if (!MustStart(inline)) return true;
        }

        Start(inline);
        return true;
    }

    /// <summary>Holds inline frames back until <see cref="Uncork"/>. Only the receive loop corks.</summary>
    public void Cork()
    {
        lock (_lock) _isCorked = true;
    }

    /// <summary>Sends what was held back, on this thread.</summary>
    public void Uncork()
    {
        lock (_lock)
        {
            _isCorked = false;
            if (_isSending || _isClosed || _queued.Count == 0) return;
            _isSending = true;
        }

        Start(inline: true);
    }

    /// <summary>Completes when more may be queued, or when the sender is closed.</summary>
    public ValueTask WhenWritable()
    {
        if (IsWritable) return ValueTask.CompletedTask;
        lock (_lock)
        {
            if (_isClosed || _queuedBytes <= _maxQueuedBytes) return ValueTask.CompletedTask;
            _writable ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            return new ValueTask(_writable.Task);
        }
    }

    /// <summary>Completes when everything has been taken by the wire or dropped, and no buffer is in use.</summary>
    public Task WhenIdle()
    {
        lock (_lock)
        {
            if (!_isSending && _queued.Count == 0) return Task.CompletedTask;
            _idle ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            return _idle.Task;
        }
    }

    /// <summary>Drops what is queued and refuses the rest. The wire's owner aborts the wire as well.</summary>
    public void Close()
    {
        lock (_lock)
        {
            _isClosed = true;
            DropQueued();
            SignalWritable();
            if (!_isSending) EndDrain();
        }
    }

    /// <summary>Drains on the thread pool.</summary>
    void IThreadPoolWorkItem.Execute() => Observe(DrainAsync(inline: false));

    /// <summary>A drain handles its own errors and never faults; <see cref="WhenIdle"/> tells its end.</summary>
    private static void Observe(Task drain) => Debug.Assert(!drain.IsFaulted, "A drain must not fault.");

    private void Start(bool inline)
    {
        if (inline) Observe(DrainAsync(inline: true));
        else ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    private async Task DrainAsync(bool inline)
    {
        try
        {
            int rounds = 0;
            while (TakeBatch())
            {
                await SendBatchAsync(_batch).ConfigureAwait(false);
                if (!inline) Gather();
                if (!inline || ++rounds < MaxInlineRounds) continue;

                // A thread that came to send one frame must not serve the others for ever.
                ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
                return;
            }
        }
        catch (Exception exception)
        {
            Fail(exception);
        }
    }

    /// <summary>While frames stream in, lets some more come, so that they leave together: a system call for every few
    /// would cost both ends more than everything else. Ends as soon as nothing comes.</summary>
    private void Gather()
    {
        long began = Stopwatch.GetTimestamp();
        long bytes = QueuedBytes;
        while (bytes is > 0 and < GatheredBytes && Stopwatch.GetElapsedTime(began) < LongestGathering)
        {
            Thread.SpinWait(GatheringSpins);
            long before = bytes;
            bytes = QueuedBytes;
            if (bytes == before) return;
        }
    }

    /// <summary>Something was queued: whether the caller is to drain. Under the lock.</summary>
    private bool MustStart(bool inline)
    {
        if (_isSending || (inline && _isCorked)) return false;
        _isSending = true;
        return true;
    }

    /// <summary>Puts a frame behind those that wait. A small one is copied behind the small ones before it, to leave
    /// with them: whoever made it still has it in its cache.</summary>
    private void Queue(FrameBuffer frame)
    {
        if (JoinedFor(frame.FrameBytes) is { } joined)
        {
            joined.Join(frame);
            return;
        }

        _joined = null;
        _queued.Add(frame);
    }

    /// <summary>The small frames at the end of the queue in one buffer, if so many bytes go with them.</summary>
    private FrameBuffer? JoinedFor(int bytes)
    {
        FrameBuffer? last = _queued.Count > 0 ? _queued[^1] : null;
        if (last is null || bytes > SmallFrameBytes || last.FrameBytes + bytes > JoinedBytes) return null;
        if (last == _joined) return last;
        return last.FrameBytes > SmallFrameBytes ? null : BeginJoined(last.FrameBytes + bytes, last);
    }

    /// <summary>A buffer at the end of the queue for frames that leave together; it takes the place of
    /// <paramref name="first"/>.</summary>
    private FrameBuffer BeginJoined(int bytes, FrameBuffer? first = null)
    {
        _joined = FrameBuffer.RentForJoining(Math.Max(_recentJoinedBytes, bytes));
        if (first is null)
        {
            _queued.Add(_joined);
        }
        else
        {
            _joined.Join(first);
            _queued[^1] = _joined;
        }

        return _joined;
    }

    /// <summary>Takes what is queued, or ends the drain.</summary>
    private bool TakeBatch()
    {
        lock (_lock)
        {
            _recentJoinedBytes = _joined?.FrameBytes ?? _recentJoinedBytes / 2;
            _joined = null;
            _batch.Clear();
            (_queued, _batch) = (_batch, _queued);
            if (_batch.Count > 0) return true;
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

        lock (_lock)
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
        lock (_lock)
        {
            _queuedBytes -= bytes;
            if (_queuedBytes <= _maxQueuedBytes / 2) SignalWritable();
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private async ValueTask SendAsync(ReadOnlyMemory<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            ReadOnlyMemory<byte> slice = bytes[..Math.Min(bytes.Length, SliceBytes)];
            ValueTask<int> sending = _wire.SendAsync(slice);
            if (!sending.IsCompleted) Volatile.Write(ref _stalledSince, _time.GetTimestamp());
            int taken = await sending.ConfigureAwait(false);
            Volatile.Write(ref _stalledSince, 0);
            bytes = bytes[taken..];
        }
    }

    private void DropQueued()
    {
        foreach (FrameBuffer frame in _queued)
        {
            _queuedBytes -= frame.FrameBytes;
            frame.Dispose();
        }

        _queued.Clear();
        _joined = null;
    }

    private void SignalWritable()
    {
        _writable?.TrySetResult();
        _writable = null;
    }

    private void EndDrain()
    {
        _isSending = false;
        _idle?.TrySetResult();
        _idle = null;
    }
}
