using System.Threading.Channels;

namespace EQueue.MessageStore.Tests;

/// <summary>A waiter that a task stands for.</summary>
internal sealed class TestWaiter : AppendWaiter
{
    private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public Task Task => _done.Task;

    public int Calls { get; private set; }

    protected internal override void OnCompleted(Exception? fault)
    {
        Calls++;
        if (fault is null)
        {
            _done.TrySetResult();
        }
        else
        {
            _done.TrySetException(fault);
        }
    }
}

/// <summary>A ready signal that a task stands for.</summary>
internal sealed class TestSignal : ReadySignal
{
    private readonly TaskCompletionSource<QueueId> _ready = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public Task<QueueId> Task => _ready.Task;

    public int Calls { get; private set; }

    protected internal override void OnReady(QueueId queue)
    {
        Calls++;
        _ready.TrySetResult(queue);
    }
}

/// <summary>A ready signal that watches its queue again as soon as it is told.</summary>
internal sealed class FollowingSignal(QueueStore store) : ReadySignal
{
    private readonly Channel<QueueId> _told = Channel.CreateUnbounded<QueueId>();
    private int _next;
    private int _seen;

    public async Task WaitForAsync(int calls, CancellationToken cancellationToken)
    {
        while (_seen < calls)
        {
            await _told.Reader.ReadAsync(cancellationToken);
            _seen++;
        }
    }

    protected internal override void OnReady(QueueId queue)
    {
        Assert.True(store.Watch(queue, new QueueOffset(++_next), this));
        _told.Writer.TryWrite(queue);
    }
}

/// <summary>Holds whoever comes by until it is opened, and tells that someone came.</summary>
internal sealed class Gate : IDisposable
{
    private readonly ManualResetEventSlim _open = new(initialState: true);
    private readonly TaskCompletionSource _reached = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public Task Reached => _reached.Task;

    public void Shut() => _open.Reset();

    public void Open() => _open.Set();

    public void Pass()
    {
        if (!_open.IsSet)
        {
            _reached.TrySetResult();
            _open.Wait(TimeSpan.FromSeconds(30));
        }
    }

    public void Dispose()
    {
        _open.Set();
        _open.Dispose();
    }
}

/// <summary>A clock that a test moves; the monotonic one goes with it unless the wall clock alone is set.</summary>
internal sealed class ManualTime(long unixMs) : TimeProvider
{
    private long _unixMs = unixMs;
    private long _setMs;

    public override long TimestampFrequency => 1_000;

    public long UnixMs
    {
        get => Volatile.Read(ref _unixMs);
        set => Volatile.Write(ref _unixMs, value);
    }

    public override DateTimeOffset GetUtcNow() =>
        DateTimeOffset.FromUnixTimeMilliseconds(UnixMs + Volatile.Read(ref _setMs));

    public override long GetTimestamp() => UnixMs;

    /// <summary>Sets the wall clock alone.</summary>
    public void SetWallClock(TimeSpan by) => Interlocked.Add(ref _setMs, (long)by.TotalMilliseconds);
}
