namespace EQueue.MessageStore;

/// <summary>Which records of a queue a look-up by key asks for, and how much work it may be.</summary>
/// <param name="Queue">The queue.</param>
/// <param name="Key">The records' key, byte for byte; may be empty. Records without a key never match.</param>
/// <param name="From">The first offset looked at; one that is gone is the queue's start.</param>
/// <param name="To">The offset after the last one looked at; what is not visible is not looked at.</param>
/// <param name="MaxCount">Records after which to end; 1 or more.</param>
/// <param name="MaxBytes">Bytes read after which to end; 1 or more. The last entry may go beyond.</param>
public readonly record struct KeyQuestion(
    QueueId Queue, ReadOnlyMemory<byte> Key, QueueOffset From, QueueOffset To, int MaxCount, long MaxBytes);
