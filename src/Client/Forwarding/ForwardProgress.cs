using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>The cursors of the queues, and the commits that follow them: never beyond what the target has.</summary>
/// <remarks>
/// The thread that sends adds to cursors; commits are made by the ticking task and by queues that are asked back.
/// </remarks>
internal sealed class ForwardProgress(ForwardWindow window, ILogger logger)
{
    private readonly ConcurrentDictionary<int, ForwardCursor> _cursors = new();

    /// <summary>The member whose queues they are; set before it is read.</summary>
    public Consumer Consumer { get; set; } = null!;

    /// <summary>The cursor of a queue in which messages from this offset on are to be sent.</summary>
    public ForwardCursor CursorOf(int queue, long first)
    {
        // A queue that was taken away and came back is read from its committed offset again.
        if (!_cursors.TryGetValue(queue, out ForwardCursor? cursor) || first < cursor.End)
            _cursors[queue] = cursor = new ForwardCursor(first);
        return cursor;
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
            await CommitAsync(cancellationToken).ConfigureAwait(false);
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
            await changed.WaitAsync(cancellationToken).ConfigureAwait(false);
        }

        try
        {
            await CommitAsync(queues, cancellationToken).ConfigureAwait(false);
        }
        catch (EQueueException exception)
        {
            Log.ForwardRepeated(logger, exception.Message);
        }
    }

    /// <summary>Whether a commit was refused because the queue is another member's by now, who repeats it.</summary>
    public static bool IsTakenOver(EQueueException exception) =>
        exception.Code is ErrorCode.QueueNotOwned or ErrorCode.UnknownMember or ErrorCode.FencedGeneration;

    private bool IsAtRest(QueueProgress queue) =>
        !_cursors.TryGetValue(queue.Queue, out ForwardCursor? cursor) || cursor.Look().IsAtRest;

    private ValueTask CommitAsync(IReadOnlyList<QueueProgress> queues, CancellationToken cancellationToken) =>
        Consumer.CommitAsync([.. queues.Select(PlaceOf)], cancellationToken);

    /// <remarks>
    /// What the member calls processed was taken before the cursor is looked at: if nothing is under way then, all of
    /// it is at the target, and with it what is no message. A queue without messages is committed where it was begun,
    /// so that a later start begins there too.
    /// </remarks>
    private QueueProgress PlaceOf(QueueProgress queue)
    {
        if (!_cursors.TryGetValue(queue.Queue, out ForwardCursor? cursor))
            return queue;
        (long reached, bool isAtRest) = cursor.Look();
        long next = isAtRest ? Math.Max(reached, queue.Next.Value) : reached;
        return queue with { Next = new QueueOffset(next) };
    }
}
