using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Is told when a watched queue has something new to read. One signal may watch many queues.</summary>
public abstract class ReadySignal
{
    /// <summary>Called once per watch, on a thread of the store: must not block, must not do I/O.</summary>
    protected internal abstract void OnReady(QueueId queue);
}
