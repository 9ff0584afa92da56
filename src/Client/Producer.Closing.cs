namespace EQueue.Client;

/// <content>The end: what was accepted is delivered within a time, and what was not is told.</content>
public sealed partial class Producer
{
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
        foreach (TopicLane topic in _routes.Topics)
            await topic.Lines.WhenEmpty().ConfigureAwait(false);
        await _routes.DisposeAsync().ConfigureAwait(false);
        foreach ((string topic, (long notSent, long unknown)) in _terms.Unsent)
            Log.ClosedUnsent(_terms.Logger, topic, notSent, unknown);
        _terms.EndTelling();
        await _ending.CompletesAsync(_terms.Told).ConfigureAwait(false);
        _onDisposed(this);
    }

    private async ValueTask FlushAllAsync(CancellationToken cancellationToken)
    {
        // Sends that still wait for route or memory come first: the one that has a turn has all before it in a batch.
        foreach (TopicLane topic in _routes.Topics)
        {
            if (topic.Lines.IsWaitedFor)
                await topic.Lines.PassAsync(cancellationToken).ConfigureAwait(false);
        }

        List<Task> pending = [];
        int moves;
        do
        {
            // A batch that went from one lane to another meanwhile may have been seen in neither.
            moves = _terms.Moves;
            foreach (BrokerLane lane in _routes.Lanes())
                lane.Flush(pending);
        }
        while (moves != _terms.Moves);

        await Task.WhenAll(pending).WaitAsync(cancellationToken).ConfigureAwait(false);
    }
}
