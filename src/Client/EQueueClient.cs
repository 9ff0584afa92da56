namespace EQueue.Client;

/// <summary>The way to EQueue's brokers: makes producers, consumers and readers, and administers topics.</summary>
public sealed class EQueueClient : IAsyncDisposable
{
    /// <summary>A client of one or more <c>host:port</c>, separated by commas.</summary>
    public EQueueClient(string addresses)
        : this(new ClientOptions { Addresses = addresses })
    {
    }

    /// <summary>A client; nothing is connected until it is used.</summary>
    public EQueueClient(ClientOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();
        Admin = new EQueueAdmin();
    }

    /// <summary>Topics, offsets, figures.</summary>
    public EQueueAdmin Admin { get; }

    /// <summary>Makes a producer.</summary>
    public Producer CreateProducer(ProducerOptions? options = null) => new(this, options ?? new ProducerOptions());

    /// <summary>Makes a member of a group that shares these topics.</summary>
    public Consumer CreateConsumer(string group, IReadOnlyList<string> topics, ConsumerOptions? options = null) =>
        new(this, group, topics, options ?? new ConsumerOptions());

    /// <summary>Makes a reader of queues that the application names.</summary>
    public QueueReader CreateReader(ReaderOptions? options = null) => new(this, options ?? new ReaderOptions());

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
