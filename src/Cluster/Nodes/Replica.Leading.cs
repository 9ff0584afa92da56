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
    private ReplicaNoteFile? _note;
    private ReplicaRecord? _unwritten;
    private ReplicaRecord? _later;
    private Task _writing = Task.CompletedTask;
    private int _progressPosted;
    private bool _isServed;
    private bool _hasEnded;

    void IReplicaActions.Persist(ReplicaRecord record)
    {
        lock (_filesLock)
        {
            _later = null; // older
            _unwritten = record;
            WriteRecord();
        }
    }

    void IReplicaActions.PersistSoon(ReplicaRecord record)
    {
        Volatile.Write(ref _later, record);
        lock (_chainLock)
        {
            if (_writing.IsCompleted)
                _writing = Task.Run(WriteLater);
        }
    }

    private void WriteLater()
    {
        try
        {
            lock (_filesLock)
            {
                if (Interlocked.Exchange(ref _later, null) is not { } record || _hasEnded)
                    return;
                _unwritten = record;
                WriteRecord();
            }
        }
        catch (Exception exception)
        {
            Fail(exception);
        }
    }

    /// <summary>Writes what is to be written where the record stands now; later, while it stands nowhere. Under the
    /// files' lock.</summary>
    private void WriteRecord()
    {
        if (_unwritten is not { } record)
            return;
        byte[] bytes = RecordCodec.Write(record);
        if (_files is { } files)
            files.Persist(bytes);
        else if (_note is { } note)
            note.Write(note.Note with { Durable = record.Durable, Record = bytes });
        else
            return;
        _unwritten = null;
    }

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
        // Without the files' lock, which a disk that stands still may hold. An engine that is opened only now sees that
        // the epoch is over.
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
        lock (_filesLock)
        {
            if (_files is not { } files)
                return;
            _view.Abandon();
            // A copy counts from the sync on that finds it complete; with async flush that may not have been yet.
            if (files.Note.IsCopying)
                files.Sync();
            durable = files.Durable;
            Guid store = files.StoreId;
            files.Dispose();
            _files = null;
            _note = ReplicaNoteFile.Open(_setup.Files, store);
        }

        try
        {
            var lead = new Lead(epoch, committed, durable);
            IShardEngine engine = await _setup.Engines
                .OpenAsync(_setup.Files.DataDirectory, lead, cancellationToken).ConfigureAwait(false);
            lock (_filesLock)
                _engine = engine;
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
        if (_isStopping)
            return;
        lock (_filesLock)
        {
            if (_files is not null)
                return;
            _note = null;
            _files = ReplicaFiles.Open(_setup.Files, _setup.Logger, _setup.Time, _stopping.Token);
            WriteRecord();
        }

        _loop.Post(() =>
        {
            if (_isStopping || _files is not { } files)
                return;
            lock (_filesLock)
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

        lock (_filesLock)
            _engine = null;
    }

    /// <summary>Ends the loop, the engine and the disk.</summary>
    private async Task EndAsync(bool isOrderly, CancellationToken cancellationToken)
    {
        if (_hasEnded)
            return;
        _hasEnded = true;
        _isStopping = true;
        _loop.Stop();
        Task chain;
        lock (_chainLock)
            chain = _chain;
        if (_leading is { } leading)
            await leading.CancelAsync().ConfigureAwait(false);
        if (!isOrderly)
        {
            lock (_filesLock)
                _engine?.Store.StopLeading();
        }

        await chain.ConfigureAwait(false);
        await _writing.ConfigureAwait(false);
        LogPosition? led = _engine?.Store.Watermarks.Durable;
        await CloseEngineAsync(isOrderly, cancellationToken).ConfigureAwait(false);
        _disk.Dispose();
        lock (_filesLock)
        {
            if (_note is not { } note || !isOrderly)
                return;
            LogPosition durable = led ?? note.Note.Durable;
            byte[] bytes = RecordCodec.Write(_core.Record with { Durable = durable });
            note.Write(note.Note with { Durable = durable, Record = bytes });
        }
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
