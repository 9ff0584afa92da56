namespace EQueue.Client;

/// <summary>The queue that a batch goes to, as far as the batch has to know it.</summary>
internal interface IBatchOwner
{
    /// <summary>The topic's name.</summary>
    string TopicName { get; }

    /// <summary>The queue's number in the topic.</summary>
    int Number { get; }

    /// <summary>The queue at its broker.</summary>
    QueueKey Key { get; }

    /// <summary>The batch is settled: its memory is free again. On any thread, under no gate.</summary>
    void ReleaseMemory(long bytes);

    /// <summary>A thread is about to block on an outcome: what it waits for must leave. Under no gate.</summary>
    void OnSenderBlocks();

    /// <summary>The continuations of a batch have run. Under no gate.</summary>
    /// <param name="hold">The batch's <see cref="SendBatch.Hold"/>.</param>
    void OnContinuationsRan(int hold);
}
