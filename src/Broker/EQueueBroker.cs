using System.Net;
using System.Net.Sockets;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Broker;

/// <summary>A broker inside this process: a store, a port, and what leads from one to the other.</summary>
/// <remarks>Thread-safe. Several brokers may live in one process, each with a data directory of its own.</remarks>
public sealed class EQueueBroker : IAsyncDisposable
{
    private readonly ModuleContext _context;
    private readonly BrokerModules _modules;
    private readonly Dispatcher _dispatcher;
    private readonly RemotingServer? _listener;
    private readonly TaskCompletionSource _completion = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Lock _lifetime = new();
    private readonly Task _watch;
    private Task? _stop;

    /// <param name="context">What its modules share.</param>
    /// <param name="modules">Started, and now the broker's to stop.</param>
    /// <param name="dispatcher">Serves the listener.</param>
    /// <param name="listener">Has started.</param>
    /// <param name="ownsListener">Whether the broker stops it.</param>
    internal EQueueBroker(
        ModuleContext context, BrokerModules modules, Dispatcher dispatcher, RemotingServer listener, bool ownsListener)
    {
        (_context, _modules, _dispatcher) = (context, modules, dispatcher);
        _listener = ownsListener ? listener : null;
        EndPoint = listener.LocalEndPoint;
        StoreId = context.Store.StoreId;
        _watch = WatchStoreAsync();
    }

    /// <summary>
    /// Where clients connect, with the real port: the first HOST:PORT, or the first Unix socket if there is none, or
    /// <see cref="BrokerOptions.InMemory"/>.
    /// </summary>
    public EndPoint EndPoint { get; }

    /// <summary>Serves the connections of a listener that the broker does not own; each must be told that it was
    /// opened before a frame of it, and that it has ended.</summary>
    public IConnectionHandler Handler => _dispatcher;

    /// <summary>The data directory, always the same. It also names the broker.</summary>
    public Guid StoreId { get; }

    /// <summary>
    /// Completes when the broker has stopped. Faults, while the broker still serves what can be read, when the store
    /// met a fault and takes no more messages: stop the broker and start it anew.
    /// </summary>
    public Task Completion => _completion.Task;

    /// <summary>Opens the store, brings its state back, and serves.</summary>
    /// <param name="options">How the broker runs.</param>
    /// <param name="loggerFactory">Where it logs; null = nowhere.</param>
    /// <param name="cancellationToken">Gives up; the directory is as it was.</param>
    /// <exception cref="ArgumentException">A setting is out of its range; the message names it.</exception>
    /// <exception cref="DiskException">The directory is locked by another process, or cannot be read or
    /// written.</exception>
    /// <exception cref="InvalidDataException">The directory was written by a later version, or its state is
    /// damaged.</exception>
    /// <exception cref="SocketException">The address cannot be listened on: in use, not this machine's, no such
    /// name.</exception>
    public static Task<EQueueBroker> StartAsync(
        BrokerOptions options, ILoggerFactory? loggerFactory = null, CancellationToken cancellationToken = default) =>
        StartAsync(options, loggerFactory ?? NullLoggerFactory.Instance, TimeProvider.System, cancellationToken);

    /// <summary>
    /// The broker's own figures, as the Stats operation gives them; docs/protocol.md lists their names.
    /// </summary>
    public StatsResponse CollectStats() => new(_modules.Stats.Collect(static _ => true));

    /// <summary>The figures without those of topics that the caller may not see.</summary>
    /// <param name="asker">Who is to see them.</param>
    public StatsResponse CollectStats(Admission asker)
    {
        ArgumentNullException.ThrowIfNull(asker);
        return new StatsResponse(_modules.Stats.Collect(topic => asker.MaySee(ResourceKind.Topic, topic)));
    }

    /// <summary>Requests since the start.</summary>
    public long RequestCount => _modules.Stats.Requests;

    /// <summary>Takes memory for a request that came by another way than a connection, such as HTTP; waits until there
    /// is some (<see cref="LimitOptions.AdminBytes"/>). More than there is at all is given to one that is
    /// alone.</summary>
    /// <param name="bytes">What it may take, to be given back with <see cref="GiveAdminMemory"/>.</param>
    /// <param name="cancellationToken">Ends the wait; nothing is taken.</param>
    public ValueTask TakeAdminMemoryAsync(long bytes, CancellationToken cancellationToken) =>
        _context.Ledger.Admin.TakeAsync(bytes, cancellationToken);

    /// <summary>What all such requests may take (<see cref="LimitOptions.AdminBytes"/>).</summary>
    public long AdminMemoryBytes => _context.Ledger.Admin.MaxBytes;

    /// <summary>What the broker can be asked for.</summary>
    internal OperationTable Operations => _dispatcher.Operations;

    /// <summary>Bytes of a message at most (<see cref="LimitOptions.MaxMessageBytes"/>).</summary>
    public int MaxMessageBytes => _context.Limits.MaxMessageBytes;

    /// <summary>Finds out who asks over HTTP, as Hello does for connections.</summary>
    /// <param name="place">Where the peer is.</param>
    /// <param name="userId">Under which user it runs, if the system tells.</param>
    /// <param name="token">That it showed; null = none.</param>
    /// <param name="address">Of the peer, with its port.</param>
    /// <param name="client">What it calls itself.</param>
    /// <returns>Who it is, for one request; the caller disposes it when that is answered.</returns>
    /// <exception cref="EQueueException">AuthenticationFailed, Unauthenticated.</exception>
    public Admission AdmitHttp(PeerPlace place, uint? userId, string? token, string address, string client) =>
        _modules.Security.Admit(new PeerFacts(place, userId, null, place != PeerPlace.Remote, address), token, client);

    /// <summary>Gives back what <see cref="TakeAdminMemoryAsync"/> took.</summary>
    public void GiveAdminMemory(long bytes) => _context.Ledger.Admin.Give(bytes);

    /// <summary>Whether messages are refused at the moment because the volume is full, or nearly; readers are
    /// served. The broker looks anew every second.</summary>
    public bool IsReadOnly => _context.Store.Figures.IsReadOnly;

    /// <summary>For how long a write of the store has not ended, when that is so long that the disk must be taken to
    /// hang; zero while it does not.</summary>
    public TimeSpan StalledFor => _context.Store.Figures is { IsStalled: true } figures
        ? TimeSpan.FromMilliseconds(figures.OldestDiskCallMs)
        : TimeSpan.Zero;

    /// <summary>Segments of the log that have gone or cannot be read since the start: their messages are lost for
    /// readers, the rest is served.</summary>
    public int LostSegments => _context.Store.Figures.SegmentsLost;

    /// <summary>Changes what topics are made of from now on; topics that exist stay as they are.</summary>
    /// <param name="topics">How often retention runs is not taken up.</param>
    /// <exception cref="ArgumentException">A setting is out of its range; the message names it.</exception>
    public void ChangeTopicDefaults(TopicOptions topics)
    {
        ArgumentNullException.ThrowIfNull(topics);
        topics.Validate(_context.Limits);
        _modules.Topics.Defaults = topics;
    }

    /// <summary>
    /// Stops in order: accepts no more, answers what was read, makes everything durable, takes a snapshot and marks the
    /// directory as clean.
    /// </summary>
    /// <param name="cancellationToken">Ends the wait for answers and slow peers at once; the store is closed in order
    /// all the same.</param>
    /// <remarks>Later calls wait for the first one.</remarks>
    public Task StopAsync(CancellationToken cancellationToken)
    {
        lock (_lifetime)
            return _stop ??= StopOnceAsync(cancellationToken);
    }

    /// <summary>Stops as <see cref="StopAsync"/> does.</summary>
    public async ValueTask DisposeAsync() => await StopAsync(CancellationToken.None);

    internal static async Task<EQueueBroker> StartAsync(
        BrokerOptions options, ILoggerFactory loggers, TimeProvider time, CancellationToken cancellationToken)
    {
        BrokerOpening opening = await BrokerOpening.OpenAsync(options, lead: null, loggers, time, cancellationToken);
        return await opening.StartAsync(listener: null, cancellationToken);
    }

    private async Task StopOnceAsync(CancellationToken cancellationToken)
    {
        // Returns to the caller first, so that the lock is not held over the stop.
        await Task.Yield();
        try
        {
            _modules.StopWaiting();
            if (_listener is not null)
            {
                await _listener.StopAsync(_context.Options.DrainTimeout, cancellationToken);
                await _listener.DisposeAsync();
            }
        }
        finally
        {
            await _modules.CloseAsync();
            await _watch;
        }

        _context.Logger.Stopped(StoreId);
        _context.Logger.Dispose();
        _completion.TrySetResult();
    }

    private async Task WatchStoreAsync()
    {
        try
        {
            await _context.Store.Completion;
        }
        catch (Exception exception)
        {
            _context.Logger.StoreFaulted(StoreId, exception);
            _completion.TrySetException(exception);
        }
    }
}
