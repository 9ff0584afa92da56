using System.Collections.Concurrent;

namespace EQueue.Client;

/// <content>The end: what was accepted is delivered within a time, and what was not is told.</content>
public sealed partial class Producer
{
    private readonly ConcurrentDictionary<string, (long NotSent, long Unknown)> _unsent = new(StringComparer.Ordinal);
    private readonly ClosingTime _ending;

    /// <summary>
    /// Takes no more messages, delivers what was accepted within <see cref="ClientOptions.CloseTimeout"/>, fails the
    /// rest with <see cref="ProducerClosedException"/> and disconnects. At once where nothing is under way.
    /// </summary>
    public ValueTask DisposeAsync() => CloseAsync(_directory.Options.CloseTimeout);

    /// <summary>Closes as <see cref="DisposeAsync"/> does, and blocks until that is done.</summary>
    public void Dispose() => Blocking.Wait(DisposeAsync);

    /// <summary>Closes as <see cref="DisposeAsync"/> does, within a time of its own.</summary>
    /// <param name="timeout">How long what was accepted may take; zero = not at all. Of several calls the one whose
    /// time ends first holds.</param>
    /// <exception cref="ArgumentOutOfRangeException">The time is below zero or more than 20 days.</exception>
    public ValueTask CloseAsync(TimeSpan timeout)
    {
        Option.CheckCloseTimeout(timeout);
        Task ended = _ending.EndWithinAsync(timeout);
        lock (_lock)
            _disposal ??= DisposeOnceAsync();
        return new ValueTask(Task.WhenAll(ended, _disposal));
    }

    /// <summary>
    /// Takes no more messages, fails with <see cref="ProducerClosedException"/> what is not acknowledged yet, and
    /// disconnects without waiting for the broker. What was under way may be stored all the same. Also ends a
    /// <see cref="DisposeAsync"/> that waits.
    /// </summary>
    public ValueTask AbortAsync() => CloseAsync(TimeSpan.Zero);

    /// <summary>Messages that are given up because the producer ends.</summary>
    internal void NoteUnsent(string topic, int count, bool mayBeStored) => _unsent.AddOrUpdate(
        topic,
        static (_, added) => added,
        static (_, known, added) => (known.NotSent + added.NotSent, known.Unknown + added.Unknown),
        (NotSent: mayBeStored ? 0L : count, Unknown: mayBeStored ? count : 0L));

    private async Task DisposeOnceAsync()
    {
        _isDisposed = true;
        try
        {
            await FlushAllAsync(_ending.Over).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // The time is over: what is left fails below.
        }

        ClientGauges.Remove(this);
        await _closing.CancelAsync().ConfigureAwait(false);
        foreach (TopicLane topic in _topics.Values)
            await topic.WhenNobodyWaits().ConfigureAwait(false);
        await _refreshes.ConfigureAwait(false);
        foreach (BrokerLane lane in Lanes())
            await lane.DisposeAsync().ConfigureAwait(false);
        await _retired.WhenAllAsync().ConfigureAwait(false);
        foreach ((string topic, (long notSent, long unknown)) in _unsent)
            Log.ClosedUnsent(Logger, topic, notSent, unknown);
        EndTelling();
        await _ending.CompletesAsync(_told.Task).ConfigureAwait(false);
        _onDisposed(this);
    }

    private async ValueTask FlushAllAsync(CancellationToken cancellationToken)
    {
        // Sends that still wait for route or memory come first: the one that has a turn has all before it in a batch.
        foreach (TopicLane topic in _topics.Values)
        {
            if (topic.IsWaitedFor)
                await topic.PassAsync(cancellationToken).ConfigureAwait(false);
        }

        List<Task> pending = [];
        int moves;
        do
        {
            // A batch that went from one lane to another meanwhile may have been seen in neither.
            moves = Volatile.Read(ref _moves);
            foreach (BrokerLane lane in Lanes())
                lane.Flush(pending);
        }
        while (moves != Volatile.Read(ref _moves));

        await Task.WhenAll(pending).WaitAsync(cancellationToken).ConfigureAwait(false);
    }
}
