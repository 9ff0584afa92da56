using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <content>The log changes hands: from the files to the engine and back.</content>
internal sealed partial class Replica
{
    private readonly Lock _chainLock = new();
    private Task _chain = Task.CompletedTask;
    private CancellationTokenSource? _leading;
    private IShardEngine? _engine;
    private int _progressPosted;
    private bool _isServed;
    private bool _hasEnded;

    void IReplicaActions.StartEpoch(int epoch, Nonce nonce)
    {
        _view.Close();
        _isServed = false;
        var leading = CancellationTokenSource.CreateLinkedTokenSource(_stopping.Token);
        _leading = leading;
        LogPosition committed = _core.Record.Committed;
        _setup.Logger.Leads(_setup.Node, epoch);
        Enqueue(() => OpenAsync(epoch, committed, leading.Token));
    }

    void IReplicaActions.Publish(LogPosition committed, LogPosition durable, bool isOpen)
    {
        if (_view.Store is not { } store)
            return;
        store.SetCommitted(committed, _setup.Rules.IsSync ? committed : durable);
        if (!isOpen || _isServed || _leading is not { } leading)
            return;
        _isServed = true;
        Enqueue(() => ServeAsync(leading.Token));
    }

    void IReplicaActions.StopLeading()
    {
        _setup.Door.Close();
        _view.Close();
        _leading?.Cancel();
        _leading = null;
        // No lock: a disk that stands still may hold the files'. An engine that is opened only now sees that the epoch
        // is over.
        Volatile.Read(ref _engine)?.Store.StopLeading();
        _setup.Logger.LeadsNoLonger(_setup.Node, _core.Record.Epoch);
        Enqueue(ReopenAsync);
    }

    /// <summary>Has a step done after those before it. One that fails ends the replica, unless it was told to
    /// stop.</summary>
    private void Enqueue(Func<Task> step)
    {
        lock (_chainLock)
            _chain = RunAsync(_chain, step);
    }

    private async Task RunAsync(Task before, Func<Task> step)
    {
        await before.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        if (_ended.Task.IsFaulted)
            return;
        try
        {
            await step().ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            Fail(exception);
        }
    }

    /// <summary>Opens the engine's store on the files, and begins the epoch.</summary>
    private async Task OpenAsync(int epoch, LogPosition committed, CancellationToken cancellationToken)
    {
        LogPosition durable;
        lock (_directory.Lock)
        {
            if (_directory.Files is null)
                return;
            _view.Abandon();
            durable = _directory.HandOver();
        }

        try
        {
            var lead = new Lead(epoch, committed, durable);
            IShardEngine engine = await _setup.Engines
                .OpenAsync(_setup.Files.DataDirectory, lead, cancellationToken).ConfigureAwait(false);
            // A full fence: this step sees that its epoch is over, or the thread that ends it sees the engine.
            Interlocked.Exchange(ref _engine, engine);
            cancellationToken.ThrowIfCancellationRequested();
            _ = WatchAsync(engine);
            engine.Store.Progressed = OnProgressed;
            LogPosition end = await Task.Run(engine.Store.StartLeading, CancellationToken.None).ConfigureAwait(false);
            _loop.Post(() => OnEpochStarted(epoch, end, engine));
        }
        catch (Exception) when (cancellationToken.IsCancellationRequested)
        {
            // The epoch is over: the next step closes what is open.
        }
    }

    private void OnEpochStarted(int epoch, LogPosition end, IShardEngine engine)
    {
        if (_isStopping || !_core.IsLeading || _core.Record.Epoch != epoch)
            return;
        _view.Lead(engine.Store);
        _core.OnEpochStarted(epoch, end, _loop.NowMs);
    }

    private async Task ServeAsync(CancellationToken cancellationToken)
    {
        if (_engine is not { } engine || cancellationToken.IsCancellationRequested)
            return;
        try
        {
            IConnectionHandler handler = await engine
                .ServeAsync(_setup.Listener, cancellationToken).ConfigureAwait(false);
            if (cancellationToken.IsCancellationRequested)
                return;
            _setup.Door.Open(handler);
            _setup.Logger.Serves(_setup.Node, engine.Store.Epoch);
            if (cancellationToken.IsCancellationRequested)
                _setup.Door.Close();
        }
        catch (Exception) when (cancellationToken.IsCancellationRequested)
        {
            // The epoch was over before it served.
        }
    }

    /// <summary>Closes the engine, and opens its files plainly again.</summary>
    private async Task ReopenAsync()
    {
        await CloseEngineAsync(isOrderly: false, CancellationToken.None).ConfigureAwait(false);
        if (_isStopping || !_directory.TryReopen(_stopping.Token))
            return;
        _loop.Post(() =>
        {
            if (_isStopping || _directory.Files is not { } files)
                return;
            lock (_directory.Lock)
                _view.Follow(files);
            _core.OnLogOpened(_loop.NowMs);
        });
    }

    private async Task CloseEngineAsync(bool isOrderly, CancellationToken cancellationToken)
    {
        await _setup.Door.EmptyAsync().ConfigureAwait(false);
        if (_engine is not { } engine)
            return;
        if (!isOrderly)
            engine.Store.StopLeading();
        try
        {
            if (isOrderly)
                await engine.StopAsync(cancellationToken).ConfigureAwait(false);
            else
                await engine.DisposeAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (!isOrderly || engine.Completion.IsFaulted)
        {
            _setup.Logger.EngineClosedBadly(_setup.Node, exception.Message);
        }

        Volatile.Write(ref _engine, null);
    }

    /// <summary>Ends the loop, the engine and the disk.</summary>
    private async Task EndAsync(bool isOrderly, CancellationToken cancellationToken)
    {
        if (_hasEnded)
            return;
        _hasEnded = true;
        _isStopping = true;
        _loop.Stop();
        Task writing = _directory.EndWritingAsync();
        Task chain;
        lock (_chainLock)
            chain = _chain;
        if (_leading is { } leading)
            await leading.CancelAsync().ConfigureAwait(false);
        if (!isOrderly)
            Volatile.Read(ref _engine)?.Store.StopLeading();
        await chain.ConfigureAwait(false);
        await writing.ConfigureAwait(false);
        LogPosition? led = _engine?.Store.Watermarks.Durable;
        await CloseEngineAsync(isOrderly, cancellationToken).ConfigureAwait(false);
        _disk.Dispose();
        if (isOrderly)
            _directory.CloseNote(_core.Record, led);
    }

    /// <summary>A store that fails while it leads ends the node: it is opened anew by the next process.</summary>
    private async Task WatchAsync(IShardEngine engine)
    {
        try
        {
            await engine.Completion.ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            Fail(exception);
        }
    }

    private void OnProgressed()
    {
        if (Interlocked.Exchange(ref _progressPosted, 1) != 0)
            return;
        _loop.Post(() =>
        {
            Volatile.Write(ref _progressPosted, 0);
            if (_isStopping || _view.Store is null)
                return;
            _view.Refresh();
            _core.OnLogMoved(_loop.NowMs);
        });
    }
}
