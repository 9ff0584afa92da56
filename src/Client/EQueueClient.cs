using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>The way to EQueue's brokers: makes producers, consumers and readers, and administers topics.</summary>
/// <remarks>Thread-safe. Disposing it disposes what it made and is not disposed yet.</remarks>
public sealed class EQueueClient : IAsyncDisposable, IDisposable
{
    private readonly BrokerDirectory _directory;
    private readonly HashSet<IClosable> _made = [];
    private readonly Lock _lock = new();
    private bool _isDisposed;

    /// <summary>A client of one or more <c>host:port</c> or <c>unix:/path</c>, separated by commas.</summary>
    public EQueueClient(string addresses)
        : this(new ClientOptions { Addresses = addresses })
    {
    }

    /// <summary>A client; nothing is connected until it is used.</summary>
    /// <exception cref="ArgumentException">A setting is outside its range.</exception>
    public EQueueClient(ClientOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();
        var loggers = new PrintableLoggerFactory(options.LoggerFactory, options.TimeProvider);
        _directory = new BrokerDirectory(options with { LoggerFactory = loggers });
        Admin = new EQueueAdmin(_directory);
    }

    /// <summary>Knows the brokers; for what is served over this client within the process.</summary>
    internal BrokerDirectory Directory => _directory;

    /// <summary>Topics, groups, offsets, single messages, figures.</summary>
    public EQueueAdmin Admin { get; }

    /// <summary>Makes a producer.</summary>
    /// <exception cref="ArgumentException">A setting is outside its range.</exception>
    public Producer CreateProducer(ProducerOptions? options = null) =>
        Keep(new Producer(_directory, options ?? new ProducerOptions(), Forget));

    /// <summary>Makes a member of a group that shares these topics. It joins when it is first read.</summary>
    /// <exception cref="ArgumentException">A setting is outside its range, or a name is not valid.</exception>
    public Consumer CreateConsumer(string group, IReadOnlyList<string> topics, ConsumerOptions? options = null) =>
        Keep(new Consumer(_directory, group, topics, options ?? new ConsumerOptions(), Forget));

    /// <summary>Makes a reader of queues that the application names.</summary>
    /// <exception cref="ArgumentException">A setting is outside its range.</exception>
    public QueueReader CreateReader(ReaderOptions? options = null) =>
        Keep(new QueueReader(_directory, options ?? new ReaderOptions(), Forget));

    /// <summary>Closes what was made, each in its orderly way and all at once, within
    /// <see cref="ClientOptions.CloseTimeout"/>, and disconnects.</summary>
    public ValueTask DisposeAsync() => CloseAsync(_directory.Options.CloseTimeout);

    /// <summary>Closes as <see cref="DisposeAsync"/> does, and blocks until that is done.</summary>
    public void Dispose() => Blocking.Wait(DisposeAsync);

    /// <summary>Closes as <see cref="DisposeAsync"/> does, within a time of its own.</summary>
    /// <param name="timeout">How long it may take; zero = nothing is waited for. Of several calls the one whose time
    /// ends first holds.</param>
    /// <exception cref="ArgumentOutOfRangeException">The time is below zero or more than 20 days.</exception>
    public async ValueTask CloseAsync(TimeSpan timeout)
    {
        Option.CheckCloseTimeout(timeout);
        IClosable[] made;
        lock (_lock)
        {
            _isDisposed = true;
            made = [.. _made];
        }

        await Task.WhenAll(made.Select(one => one.CloseAsync(timeout).AsTask())).ConfigureAwait(false);
        await _directory.DisposeAsync().ConfigureAwait(false);
    }

    private T Keep<T>(T made)
        where T : IClosable
    {
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            _made.Add(made);
        }

        return made;
    }

    private void Forget(IClosable made)
    {
        lock (_lock)
            _made.Remove(made);
    }
}
