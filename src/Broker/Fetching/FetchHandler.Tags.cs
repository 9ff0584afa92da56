using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <content>Passes over what the tag masks leave out, in turns, and lets the reader know how far that went.</content>
/// <remarks>
/// A queue's place moves at once and stays moved, however often the request is taken up again. The reader is told by
/// any answer that leaves: by a header without entries.
/// </remarks>
internal sealed partial class FetchHandler
{
    /// <summary>So many messages passed over are worth an answer of their own; fewer wait for one that leaves
    /// anyway.</summary>
    internal const long MaxUntoldMessages = 1_000_000;

    /// <summary>Reads of one turn that pass over as much as one may: a fraction of a millisecond of a thread.</summary>
    private const int MaxLongPasses = 16;

    /// <summary>Whether a queue that gave nothing has more to look at.</summary>
    private static bool HasMore(SessionQueue queue, in ReadResult read) =>
        queue.Next.Value < read.VisibleEnd.Value;

    /// <summary>Continues behind what a read passed over without giving anything from memory.</summary>
    private void PassOver(FetchSession session, SessionQueue queue, in ReadResult read)
    {
        long passed = read.NextOffset.Value - queue.Next.Value;
        if (read.Size > 0 || read.Error != ErrorCode.None || passed <= 0)
            return;
        session.PassedCount += passed;
        queue.Next = read.NextOffset;
        if (queue.IsMoved)
            return;
        queue.IsMoved = true;
        session.Moved.Add(queue);
        session.IsMoveAwaited |= IsBounded(queue);
    }

    /// <summary>
    /// Whether senders wait for the reader to commit what was passed over, or the request has passed over enough, or
    /// waited enough while it did, or has no owner any more.
    /// </summary>
    private bool IsToBeTold(FetchSession session) =>
        session.IsMoveAwaited
        || session.PassedCount >= MaxUntoldMessages
        || (session.IsPassing && (session.Phase == FetchPhase.Ended || WaitLeft(session) <= TimeSpan.Zero));

    /// <summary>What is left of the request's wait, which does not begin anew when it is taken up in vain.</summary>
    private TimeSpan TakeWait(FetchSession session)
    {
        bool hasBegun = session.HasWaited || session.PassedCount > 0;
        TimeSpan wait = hasBegun ? WaitLeft(session) : LongestWait(session);
        session.HasWaited = true;
        return wait > TimeSpan.Zero ? wait : TimeSpan.Zero;
    }

    private TimeSpan WaitLeft(FetchSession session) =>
        LongestWait(session) - _time.GetElapsedTime(session.LastUsed);

    private TimeSpan LongestWait(FetchSession session)
    {
        var wait = TimeSpan.FromMilliseconds(session.Request.MaxWaitMs);
        return wait < _limits.MaxFetchWait ? wait : _limits.MaxFetchWait;
    }

    /// <summary>Adds a header without entries for each queue whose reader does not know how far it has come.</summary>
    private void TellMoved(FetchSession session, FetchAnswer answer)
    {
        int longest = session.Peer.MaxFrameBytes - FrameHeader.Size - FetchedQueueHeader.Size;
        int kept = 0;
        for (int i = 0; i < session.Moved.Count; i++)
        {
            SessionQueue queue = session.Moved[i];
            if (answer.Frame!.WrittenCount > longest)
            {
                session.Moved[kept++] = queue;
                continue;
            }

            queue.IsMoved = false;
            TellMoved(queue, answer);
        }

        session.Moved.RemoveRange(kept, session.Moved.Count - kept);
        session.PassedCount = 0;
        session.IsMoveAwaited = false;
    }

    private bool IsBounded(SessionQueue queue) =>
        _catalogue.TryFindByQueue(queue.Key.Id, out Topic? topic) && topic.Backlog is { IsBounded: true };

    private void TellMoved(SessionQueue queue, FetchAnswer answer)
    {
        if (queue.IsGone || queue.Told.Value >= queue.Next.Value
            || !_store.TryGetQueue(queue.Key.Id, out QueueView view))
        {
            return;
        }

        new FetchedQueueHeader(
            queue.Key.Id, queue.Key.Log, ErrorCode.None, view.Start, view.End, queue.Next, -1, 0)
            .Write(answer.Frame!.Reserve(FetchedQueueHeader.Size));
        queue.Told = queue.Next;
        answer.QueueCount++;
        answer.IsBounded |= IsBounded(queue);
    }
}
