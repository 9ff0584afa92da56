using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>The batch objects of one producer, used again and again, and how their messages are completed.</summary>
/// <remarks>Thread-safe.</remarks>
/// <param name="completesInline">Whether continuations and callbacks run on the thread that settles a batch.</param>
/// <param name="logger">Told of callbacks that throw.</param>
internal sealed class BatchPool(bool completesInline, ILogger logger)
{
    private const int MaxPooledBatches = 1024;

    private readonly ConcurrentQueue<SendBatch> _free = new();

    public bool CompletesInline => completesInline;

    public ILogger Logger => logger;

    /// <summary>A batch object, used before or new.</summary>
    public SendBatch Rent() => _free.TryDequeue(out SendBatch? batch) ? batch : new SendBatch(this);

    /// <summary>Takes back a batch object that nothing refers to any more.</summary>
    public void Return(SendBatch batch)
    {
        if (_free.Count < MaxPooledBatches)
            _free.Enqueue(batch);
    }
}
