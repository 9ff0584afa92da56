namespace EQueue.Broker;

/// <summary>A feature of the broker in its life: loaded, started, asked to let nothing wait, stopped, closed.</summary>
/// <remarks>
/// The broker has one list of modules (<see cref="BrokerModules"/>): it loads and starts them in the list's order and
/// does the rest in reverse. One call at a time, but for <see cref="OnDisconnected"/>. What a module does not need it
/// leaves out.
/// </remarks>
internal interface IBrokerModule
{
    /// <summary>Takes over what the log holds. The broker does not serve yet.</summary>
    Task LoadAsync() => Task.CompletedTask;

    /// <summary>The broker serves: what works by itself begins.</summary>
    void Start() { }

    /// <summary>A connection is gone. On its receive loop, as the last call.</summary>
    void OnDisconnected(BrokerConnection peer) { }

    /// <summary>The broker stops: answers what waits, and lets nothing wait from now on, so that connections can
    /// drain.</summary>
    void StopWaiting() { }

    /// <summary>Ends what works by itself. No connection is left, and the store is open.</summary>
    ValueTask StopAsync() => ValueTask.CompletedTask;

    /// <summary>The store is closed: nothing calls the module any more.</summary>
    void Close() => (this as IDisposable)?.Dispose();
}
