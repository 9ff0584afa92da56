using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Shares the messages of one request out to batches, each of one queue.</summary>
/// <remarks>Used by one flow at a time. Messages of a queue keep their order; a batch is full when the next one does
/// not fit.</remarks>
/// <param name="queues">The topic's queues by number.</param>
/// <param name="turn">Where to look first for a queue for messages without a key.</param>
/// <param name="limits">The broker's.</param>
internal sealed class PostPlan(IReadOnlyList<QueueRoute> queues, uint turn, HelloResponse limits)
{
    private readonly Dictionary<int, PostBatch> _open = [];
    private readonly List<PostBatch> _batches = [];
    private int _keyless = -1;

    /// <summary>The batches in the order in which they were begun.</summary>
    public IReadOnlyList<PostBatch> Batches => _batches;

    /// <summary>Puts a message into a batch of its queue.</summary>
    /// <param name="message">The message.</param>
    /// <param name="queue">The queue asked for; null = its key's, or the one whose turn it is.</param>
    /// <exception cref="EQueueException">It is too large, or no queue takes it.</exception>
    public void Add(PostedMessage message, int? queue)
    {
        if (message.BodySize > limits.MaxMessageBytes)
        {
            throw new EQueueException(
                ErrorCode.MessageTooLarge,
                $"messages[{message.Index}] has a body of {message.BodySize} bytes: allowed is up to "
                + $"{limits.MaxMessageBytes}.");
        }

        int number = queue ?? (message.Key is { } key ? Murmur2.QueueOf(key, queues.Count) : QueueInTurn());
        if (_open.TryGetValue(number, out PostBatch? batch) && batch.TryAdd(message))
            return;
        batch = new PostBatch(queues[number], limits.MaxBatchBytes);
        if (!batch.TryAdd(message))
        {
            throw new EQueueException(
                ErrorCode.MessageTooLarge,
                $"messages[{message.Index}] does not fit into a batch of {limits.MaxBatchBytes} bytes with its key, "
                + "tag and properties.");
        }

        _open[number] = batch;
        _batches.Add(batch);
    }

    /// <summary>The queue of all messages without a key: the first one from the turn on that takes messages.</summary>
    private int QueueInTurn()
    {
        for (uint step = 0; _keyless < 0 && step < queues.Count; step++)
        {
            int number = (int)((turn + step) % (uint)queues.Count);
            if (queues[number].State.HasFlag(QueueState.Writable))
                _keyless = number;
        }

        return _keyless >= 0
            ? _keyless
            : throw new EQueueException(ErrorCode.QueueNotWritable, "No queue of the topic takes messages now.");
    }
}
