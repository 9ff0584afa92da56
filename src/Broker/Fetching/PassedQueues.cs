using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Passes over what the tag masks leave out, and lets the reader know how far that went.</summary>
/// <remarks>
/// A queue's place moves at once and stays moved, however often the request is taken up again. The reader is told by
/// any answer that leaves: by a header without entries.
/// </remarks>
internal sealed class PassedQueues(QueueStore store, TopicCatalogue catalogue)
{
    /// <summary>So many messages passed over are worth an answer of their own; fewer wait for one that leaves
    /// anyway.</summary>
    public const long MaxUntoldMessages = 1_000_000;

    /// <summary>Whether a queue that gave nothing has more to look at.</summary>
    public static bool HasMore(SessionQueue queue, in ReadResult read) =>
        queue.Next.Value < read.VisibleEnd.Value;

    /// <summary>Continues behind what a read passed over without giving anything from memory.</summary>
    public void PassOver(FetchSession session, SessionQueue queue, in ReadResult read)
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

    /// <summary>Adds a header without entries for each queue whose reader does not know how far it has come.</summary>
    public void Tell(FetchSession session, FetchAnswer answer)
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
            Tell(queue, answer);
        }

        session.Moved.RemoveRange(kept, session.Moved.Count - kept);
        session.PassedCount = 0;
        session.IsMoveAwaited = false;
    }

    /// <summary>Adds a header without entries if the reader does not know how far the queue has come.</summary>
    public void Tell(SessionQueue queue, FetchAnswer answer)
    {
        if (queue.IsGone || queue.Told.Value >= queue.Next.Value
            || !store.TryGetQueue(queue.Key.Id, out QueueView view))
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

    /// <summary>Whether the queue's topic has a bound, so that senders may wait for what is committed.</summary>
    public bool IsBounded(SessionQueue queue) =>
        catalogue.TryFindByQueue(queue.Key.Id, out Topic? topic) && topic.Backlog is { IsBounded: true };
}
