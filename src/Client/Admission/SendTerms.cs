using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>What all parts of one producer share: how it sends, its clock, its memory, its end.</summary>
/// <remarks>Made and ended by the producer. Thread-safe.</remarks>
internal sealed class SendTerms
{
    /// <summary>A topic that is full may hold one part of the memory in so many; one part is never theirs.</summary>
    private const int BoundedShare = 4;

    /// <summary>What topics with a bounded backlog may hold together.</summary>
    private readonly SendBudget _boundedBudget;
    private readonly ConcurrentDictionary<string, (long NotSent, long Unknown)> _unsent = new(StringComparer.Ordinal);

    /// <summary>Completes when the last callback of a send that gave up has returned.</summary>
    private readonly TaskCompletionSource _told = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly long _deliveryTicks;
    private int _telling = 1;
    private int _moves;

    public SendTerms(ProducerOptions options, TimeProvider time, ILogger logger, CancellationToken closing)
    {
        Options = options;
        Time = time;
        Logger = logger;
        Closing = closing;
        _deliveryTicks = time.TicksOf(options.DeliveryTimeout);
        Batches = new BatchPool(options.InlineCompletions, logger);
        Budget = new SendBudget(options.BufferMemoryBytes);
        _boundedBudget = new SendBudget(options.BufferMemoryBytes / BoundedShare * (BoundedShare - 1), Budget);
    }

    public ProducerOptions Options { get; }

    public TimeProvider Time { get; }

    public ILogger Logger { get; }

    /// <summary>Ends every wait of the producer.</summary>
    public CancellationToken Closing { get; }

    public BatchPool Batches { get; }

    /// <summary>The memory of all messages that are not acknowledged.</summary>
    public SendBudget Budget { get; }

    /// <summary>Completes when every callback of a send that gave up has returned, once the producer has called
    /// <see cref="EndTelling"/> for itself.</summary>
    public Task Told => _told.Task;

    /// <summary>Rises when a batch goes from one lane to another.</summary>
    public int Moves => Volatile.Read(ref _moves);

    /// <summary>Messages that were given up because the producer ends, by topic.</summary>
    public IEnumerable<KeyValuePair<string, (long NotSent, long Unknown)>> Unsent => _unsent;

    /// <summary>The memory of one topic with a bounded backlog.</summary>
    public SendBudget NewBoundedBudget() => new(Options.BufferMemoryBytes / BoundedShare, _boundedBudget);

    /// <summary>The pause before another attempt: it doubles.</summary>
    public TimeSpan BackoffOf(int attempts)
    {
        TimeSpan pause = Options.RetryBackoffMin * Math.Pow(2, Math.Min(attempts - 1, 20));
        return pause < Options.RetryBackoffMax ? pause : Options.RetryBackoffMax;
    }

    /// <summary>Whether the delivery timeout of a batch is over.</summary>
    public bool IsOverdue(SendBatch batch, long now) => now - batch.CreatedAt >= _deliveryTicks;

    /// <summary>A batch goes from one lane to another. Under the gates of both.</summary>
    public void NoteMove() => Interlocked.Increment(ref _moves);

    /// <summary>Messages are given up because the producer ends.</summary>
    public void NoteUnsent(string topic, int count, bool mayBeStored) => _unsent.AddOrUpdate(
        topic,
        static (_, added) => added,
        static (_, known, added) => (known.NotSent + added.NotSent, known.Unknown + added.Unknown),
        (NotSent: mayBeStored ? 0L : count, Unknown: mayBeStored ? count : 0L));

    /// <summary>A callback is about to be called; the producer's end waits for it.</summary>
    public void BeginTelling() => Interlocked.Increment(ref _telling);

    /// <summary>The callback has returned.</summary>
    public void EndTelling()
    {
        if (Interlocked.Decrement(ref _telling) == 0)
            _told.TrySetResult();
    }
}
