namespace EQueue.Client;

/// <summary>After a pause, has queues asked for again that fell out of a fetch session by an error.</summary>
/// <remarks>Thread-safe. However often it is due, there is one pause at a time.</remarks>
/// <param name="revive">Asks for them.</param>
/// <param name="client">Tells the time and the pause.</param>
/// <param name="closing">The session is disposed.</param>
internal sealed class QueueRevival(Action revive, ClientOptions client, CancellationToken closing)
{
    private readonly Lock _gate = new();
    private Task _waiting = Task.CompletedTask;
    private bool _isDue;

    /// <summary>Completes when nothing waits any more; of a session that is disposed.</summary>
    public Task Ended
    {
        get
        {
            lock (_gate)
                return _waiting;
        }
    }

    /// <summary>There is a queue to ask for.</summary>
    public void BeDue()
    {
        lock (_gate)
        {
            if (_isDue || closing.IsCancellationRequested)
                return;
            _isDue = true;
            Task previous = _waiting;
            _waiting = Task.Run(() => WaitAsync(previous), CancellationToken.None);
        }
    }

    private async Task WaitAsync(Task previous)
    {
        await previous.ConfigureAwait(false); // done, but for its end: so one task stands for all
        try
        {
            await Task.Delay(client.ReconnectBackoffMax, client.TimeProvider, closing).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            return; // disposed while waiting
        }

        // Before they are asked for: one whose answer is an error again is due again.
        lock (_gate)
            _isDue = false;
        revive();
    }
}
