using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>A commit on its way into the log: makes its offsets visible and answers when the log says so.</summary>
/// <remarks>
/// Then, on the pool, the group learns that no commit of these queues is under way any more, and they may pass on.
/// After a fault of the store it never learns that: whether the offsets survive is unknown.
/// </remarks>
internal sealed class CommitWaiter(
    BrokerConnection peer,
    FrameHeader request,
    Group group,
    string? instance,
    ErrorCode[] results,
    CommitWaiter.Change[] changes,
    HeartbeatHandler heartbeats)
        : AppendWaiter, IThreadPoolWorkItem
{
    /// <summary>
    /// The place of this commit among those of its group; set under the group's gate before it is appended.
    /// </summary>
    public long Commit { get; set; }

    /// <summary>Answers a commit of which nothing entered the log.</summary>
    public void Fail(ErrorCode error)
    {
        foreach (Change change in changes)
            results[change.Index] = error;
        Complete();
    }

    /// <inheritdoc/>
    protected override void OnCompleted(Exception? fault)
    {
        if (fault is not null)
        {
            Fail(ErrorCode.StoreFaulted);
            return;
        }

        foreach (Change change in changes)
            group.Publish(instance, change.Queue, change.Offset, Commit);
        ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        Complete();
    }

    void IThreadPoolWorkItem.Execute() =>
        heartbeats.OnCommitVisible(group, changes.Select(change => change.Queue));

    private void Complete()
    {
        if (!request.IsOneway)
            peer.Answer(request, new CommitOffsetsResponse(results));
        peer.EndRequest();
    }

    internal readonly record struct Change(int Index, QueueKey Queue, GroupOffset Offset);
}
