using System.Runtime.CompilerServices;
using System.Threading.Tasks.Sources;
using EQueue.Load.Measuring;

namespace EQueue.Load.Sending;

/// <summary>A receipt whose latency is recorded when it comes, not when it is awaited. Used again: nothing is allocated
/// for a send.</summary>
internal sealed class TimedReceipt<T> : IValueTaskSource<T>
{
    private readonly LatencyHistogram _ack;
    private readonly Stack<TimedReceipt<T>> _free;
    private readonly Action _onSent;
    private ManualResetValueTaskSourceCore<T> _core;
    private ValueTaskAwaiter<T> _send;
    private long _startNs;

    /// <param name="ack">Gets the latency.</param>
    /// <param name="free">Where it goes once it was awaited, by the one who adds and awaits.</param>
    public TimedReceipt(LatencyHistogram ack, Stack<TimedReceipt<T>> free)
    {
        _ack = ack;
        _free = free;
        _onSent = OnSent;
    }

    /// <summary>Follows a send that began at <paramref name="startNs"/>.</summary>
    /// <returns>The token of the awaitable.</returns>
    public short Start(ValueTask<T> send, long startNs)
    {
        _core.Reset();
        _startNs = startNs;
        _send = send.GetAwaiter();
        if (_send.IsCompleted)
            OnSent();
        else
            _send.UnsafeOnCompleted(_onSent);
        return _core.Version;
    }

    /// <inheritdoc/>
    public T GetResult(short token)
    {
        try
        {
            return _core.GetResult(token);
        }
        finally
        {
            _free.Push(this);
        }
    }

    /// <inheritdoc/>
    public ValueTaskSourceStatus GetStatus(short token) => _core.GetStatus(token);

    /// <inheritdoc/>
    public void OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);

    private void OnSent()
    {
        ValueTaskAwaiter<T> send = _send;
        _send = default;
        T receipt;
        try
        {
            receipt = send.GetResult();
        }
        catch (Exception exception)
        {
            _core.SetException(exception);
            return;
        }

        _ack.Record(Clock.NowNs - _startNs);
        _core.SetResult(receipt);
    }
}
