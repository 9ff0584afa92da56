using System.Threading.Tasks.Sources;

namespace EQueue.Remoting;

/// <summary>A receive or a send that waits for its socket, one after the other.</summary>
internal abstract class SocketWait : IValueTaskSource<int>, IThreadPoolWorkItem
{
    private ManualResetValueTaskSourceCore<int> _core;
    private bool _isUnderWay;

    /// <summary>Whether a thread waits.</summary>
    public bool IsUnderWay => Volatile.Read(ref _isUnderWay);

    /// <summary>Ends the wait now that the socket is ready or closed, or keeps waiting.</summary>
    public void GoOn()
    {
        if (!TryEnd(isTold: true))
            AskOrFail();
    }

    /// <summary>Ends the wait if what it waits for is there; what follows runs on this thread.</summary>
    /// <param name="isTold">Whether the system says that it is.</param>
    public bool TryEnd(bool isTold)
    {
        int bytes;
        try
        {
            bytes = Try(isTold);
        }
        catch (Exception exception)
        {
            Fail(exception);
            return true;
        }

        if (bytes < 0)
            return false;
        Clear();
        Volatile.Write(ref _isUnderWay, false);
        _core.SetResult(bytes);
        return true;
    }

    /// <summary>Has <see cref="GoOn"/> called once; a wait that cannot be over ends with the reason.</summary>
    public void AskOrFail()
    {
        try
        {
            Ask();
        }
        catch (Exception exception)
        {
            Fail(exception);
        }
    }

    /// <inheritdoc/>
    void IThreadPoolWorkItem.Execute() => GoOn();

    /// <inheritdoc/>
    int IValueTaskSource<int>.GetResult(short token) => _core.GetResult(token);

    /// <inheritdoc/>
    ValueTaskSourceStatus IValueTaskSource<int>.GetStatus(short token) => _core.GetStatus(token);

    /// <inheritdoc/>
    void IValueTaskSource<int>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);

    /// <summary>Begins to wait.</summary>
    protected ValueTask<int> BeginAsync()
    {
        _core.Reset();
        Volatile.Write(ref _isUnderWay, true);
        if (!TryDefer())
            AskOrFail();
        return new ValueTask<int>(this, _core.Version);
    }

    /// <returns>Whether the thread will look itself before it has the system asked.</returns>
    protected abstract bool TryDefer();

    /// <summary>Has <see cref="GoOn"/> called once.</summary>
    protected abstract void Ask();

    /// <returns>Bytes; less than 0 when it has to wait.</returns>
    protected abstract int Try(bool isTold);

    /// <summary>Lets go of the memory.</summary>
    protected abstract void Clear();

    private void Fail(Exception exception)
    {
        Clear();
        Volatile.Write(ref _isUnderWay, false);
        _core.SetException(exception);
    }
}
