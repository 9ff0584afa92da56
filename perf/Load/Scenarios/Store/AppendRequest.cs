using System.Threading.Tasks.Sources;
using EQueue.Load.Measuring;
using EQueue.MessageStore;

namespace EQueue.Load.Scenarios;

/// <summary>One request under way: its batches, when it began, and an awaitable end. Used again and again.</summary>
internal sealed class AppendRequest(int batchCount, LatencyHistogram ack) : AppendWaiter, IValueTaskSource
{
    // Continues on the pool: a waiter is told on a thread of the store, which must not be kept.
    private ManualResetValueTaskSourceCore<bool> _done = new() { RunContinuationsAsynchronously = true };
    private long _startNs;
    private bool _isUnderWay;

    public AppendItem[] Items { get; } = new AppendItem[batchCount];

    /// <summary>When the store said that the request is there, on <see cref="Clock"/>.</summary>
    public long DoneNs { get; private set; }

    /// <param name="startNs">From when its latency counts, on <see cref="Clock"/>.</param>
    public void Begin(long startNs)
    {
        _isUnderWay = true;
        _startNs = startNs;
    }

    /// <summary>Completes when the request is there; at once when none is under way.</summary>
    public ValueTask WaitAsync() => _isUnderWay ? new ValueTask(this, _done.Version) : ValueTask.CompletedTask;

    /// <inheritdoc/>
    public void GetResult(short token)
    {
        _isUnderWay = false;
        try
        {
            _done.GetResult(token);
        }
        finally
        {
            _done.Reset();
        }
    }

    /// <inheritdoc/>
    public ValueTaskSourceStatus GetStatus(short token) => _done.GetStatus(token);

    /// <inheritdoc/>
    public void OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _done.OnCompleted(continuation, state, token, flags);

    /// <inheritdoc/>
    protected override void OnCompleted(Exception? fault)
    {
        DoneNs = Clock.NowNs;
        ack.Record(DoneNs - _startNs);
        if (fault is null)
            _done.SetResult(true);
        else
            _done.SetException(fault);
    }
}
