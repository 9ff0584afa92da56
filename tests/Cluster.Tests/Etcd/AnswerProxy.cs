using EQueue.Support;

namespace EQueue.Cluster.Tests.Etcd;

/// <summary>Stands between a client and etcd; it can keep answers back, as a network does that breaks after a request
/// has passed.</summary>
internal sealed class AnswerProxy(Uri etcd) : TcpRelay(etcd.Authority)
{
    private volatile TaskCompletionSource? _swallowed;
    private volatile bool _isSilent;

    /// <summary>Keeps all answers back from now on, and breaks the connection when one has come.</summary>
    /// <param name="isSilent">The connection stays and carries no more answers.</param>
    /// <returns>Completes with the first one: etcd has done what it was asked.</returns>
    public Task Swallow(bool isSilent = false)
    {
        _isSilent = isSilent;
        _swallowed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        return _swallowed.Task;
    }

    /// <summary>Lets the answers of new connections pass again.</summary>
    public override void Pass()
    {
        _swallowed = null;
        base.Pass();
    }

    protected override async ValueTask<bool> PassAsync(Memory<byte> bytes, bool isAnswer, CancellationToken end)
    {
        if (!isAnswer || _swallowed is not { } swallowed)
            return true;
        bool isSilent = _isSilent;
        swallowed.TrySetResult();
        if (isSilent)
            await new TaskCompletionSource().Task.WaitAsync(end);
        return false;
    }
}
