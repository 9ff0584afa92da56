namespace EQueue.Client;

/// <summary>The membership by which queues of one broker are read, as far as the reader has to know it.</summary>
/// <remarks>Called on the reader's thread and on receive loops: nothing in it may block.</remarks>
internal interface IReadingMember
{
    /// <summary>Whether the queues may be another member's by now: nothing that was fetched is handed out while that is
    /// so.</summary>
    bool IsInDoubt { get; }

    /// <summary>The connection of the queues' fetches is gone.</summary>
    void OnConnectionLost();

    /// <summary>The reader has left a queue that was taken away.</summary>
    void OnQueueLeft();
}
