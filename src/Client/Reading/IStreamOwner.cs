namespace EQueue.Client;

/// <summary>The group's member whose queues a stream reads; a stream of named queues has none.</summary>
internal interface IStreamOwner
{
    /// <summary>Whether no queue is on its way to this member, which may have none at all.</summary>
    bool IsSettled { get; }

    /// <summary>A queue is gone: the others go on without it. On the reader's thread.</summary>
    void OnQueueGone(QueueCursor cursor);

    /// <summary>Everything of an answer is processed whose commit senders wait for. On the reader's thread.</summary>
    void OnCommitDue();
}
