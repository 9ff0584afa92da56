using System.Collections.Concurrent;
using EQueue.Client;
using EQueue.Protocol;

namespace EQueue.Cli.Forwarding;

/// <summary>The trails of the queues, and the commits that follow them: never beyond what the target has.</summary>
/// <remarks>
/// The thread that sends adds to trails; commits are made by the ticking task and by queues that are asked back.
/// </remarks>
internal sealed class ForwardProgress(ForwardWindow window, ForwardRemarks remarks)
{
    private readonly ConcurrentDictionary<int, QueueTrail> _trails = new();

    /// <summary>The member whose queues they are; set before it is read.</summary>
    public Consumer Consumer { get; set; } = null!;

    /// <summary>The trail of a queue in which messages from this offset on are to be sent.</summary>
    public QueueTrail TrailOf(int queue, long first)
    {
        // A queue that was taken away and came back is read from its committed offset again.
        if (!_trails.TryGetValue(queue, out QueueTrail? trail) || first < trail.End)
            _trails[queue] = trail = new QueueTrail(first);
        return trail;
    }

    /// <summary>Commits every queue as far as the target has it.</summary>
    /// <exception cref="EQueueException">As <see cref="Consumer"/> says.</exception>
    public ValueTask CommitAsync(CancellationToken cancellationToken) =>
        CommitAsync(Consumer.GetProgress(), cancellationToken);

    /// <summary>Commits; what hinders it is left to the next time.</summary>
    public async ValueTask TryCommitAsync(CancellationToken cancellationToken)
    {
        try
        {
            await CommitAsync(cancellationToken);
        }
        catch (EQueueException)
        {
            // The last commit reports what still hinders it.
        }
    }

    /// <summary>
    /// Queues are to be another member's: what was sent of them is waited for, so that the next one does not send
    /// behind our back what we have under way, and committed.
    /// </summary>
    public async ValueTask ReleaseAsync(IReadOnlyList<QueueProgress> queues, CancellationToken cancellationToken)
    {
        while (true)
        {
            Task changed = window.WhenChanged();
            if (window.Failure is not null || queues.All(IsAtRest))
                break;
            await changed.WaitAsync(cancellationToken);
        }

        try
        {
            await CommitAsync(queues, cancellationToken);
        }
        catch (EQueueException exception)
        {
            remarks.Write($"what was forwarded last is forwarded again by the next member: {exception.Message}");
        }
    }

    /// <summary>Whether a commit was refused because the queue is somebody else's by now, who repeats it.</summary>
    public static bool IsTakenOver(EQueueException exception) =>
        exception.Code is ErrorCode.QueueNotOwned or ErrorCode.UnknownMember or ErrorCode.FencedGeneration;

    private bool IsAtRest(QueueProgress queue) =>
        !_trails.TryGetValue(queue.Queue, out QueueTrail? trail) || trail.Look().IsAtRest;

    private ValueTask CommitAsync(IReadOnlyList<QueueProgress> queues, CancellationToken cancellationToken) =>
        Consumer.CommitAsync([.. queues.Select(PlaceOf)], cancellationToken);

    /// <remarks>
    /// What the member calls processed was taken before the trail is looked at: if nothing is under way then, all of it
    /// is at the target, and with it what is no message. A queue without messages is committed where it was begun, so
    /// that a later start begins there too.
    /// </remarks>
    private QueueProgress PlaceOf(QueueProgress queue)
    {
        if (!_trails.TryGetValue(queue.Queue, out QueueTrail? trail))
            return queue;
        (long reached, bool isAtRest) = trail.Look();
        long next = isAtRest ? Math.Max(reached, queue.Next.Value) : reached;
        return queue with { Next = new QueueOffset(next) };
    }
}
