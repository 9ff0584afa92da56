using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A member of a consumer group: reads the queues that the group gives it and commits behind itself.</summary>
/// <remarks>
/// <para>Reading is for one loop at a time; everything else is thread-safe. A message counts as processed when the loop
/// goes to the next one: a loop that ends by <c>break</c> or an exception leaves its last message uncommitted
/// (<see cref="CommitAsync(ReceivedMessage, CancellationToken)"/> commits it), and a later loop goes on behind
/// it.</para>
/// <para>Broker restarts are ridden out: the member joins again and goes on behind what it has received, without a gap
/// and without getting anything twice. After the death of its process the group goes on where it was committed.</para>
/// </remarks>
public sealed class Consumer : IAsyncDisposable
{
    private readonly MessageStream _stream;
    private readonly GroupMember _member;
    private readonly Action<Consumer> _onDisposed;
    private readonly Lock _lock = new();
    private Task? _disposal;

    internal Consumer(
        BrokerDirectory directory,
        string group,
        IReadOnlyList<string> topics,
        ConsumerOptions options,
        Action<Consumer> onDisposed)
    {
        ArgumentNullException.ThrowIfNull(group);
        ArgumentNullException.ThrowIfNull(topics);
        options.Validate();
        Option.Require(NameRules.IsValid(group), nameof(group), group, "a valid name");
        Option.Require(topics.Count > 0, nameof(topics), topics.Count, "at least one topic");
        foreach (var topic in topics)
            Option.Require(NameRules.IsValid(topic), nameof(topics), topic, "a valid name");
        Group = group;
        Topics = [.. topics.Distinct(StringComparer.Ordinal)];
        _onDisposed = onDisposed;
        _stream = new MessageStream(directory, options);
        _member = new GroupMember(directory, _stream, group, Topics, options);
    }

    /// <summary>The group.</summary>
    public string Group { get; }

    /// <summary>The topics subscribed to.</summary>
    public IReadOnlyList<string> Topics { get; }

    /// <summary>The queues that this member owns now, and how far it has come in each.</summary>
    public IReadOnlyList<QueueProgress> GetProgress() =>
        [.. _stream.Cursors.Select(static cursor => cursor.ToProgress())];

    /// <summary>Joins the group and learns the queues; the first step of reading does it by itself.</summary>
    /// <exception cref="EQueueException">GroupBusy: another live member has the queues. Unreachable, UnknownTopic and
    /// others.</exception>
    public ValueTask JoinAsync(CancellationToken cancellationToken = default) => _member.JoinAsync(cancellationToken);

    /// <summary>
    /// Yields messages without end (see <see cref="ReaderOptions.StopAtEnd"/>), each valid until the next step.
    /// </summary>
    /// <exception cref="OperationCanceledException">The token ended the loop.</exception>
    /// <exception cref="EQueueException">What cannot be ridden out: GroupBusy, DamagedData, Disposed and
    /// others.</exception>
    public IAsyncEnumerable<ReceivedMessage> ReadAllAsync(CancellationToken cancellationToken = default) =>
        new MessageEnumeration(_stream, inBatches: false, _member.JoinAsync, cancellationToken);

    /// <summary>Yields stored batches without end, each valid until the next step. Nothing is copied.</summary>
    /// <inheritdoc cref="ReadAllAsync"/>
    public IAsyncEnumerable<ReceivedBatch> ReadBatchesAsync(CancellationToken cancellationToken = default) =>
        new MessageEnumeration(_stream, inBatches: true, _member.JoinAsync, cancellationToken);

    /// <summary>Commits everything that is processed.</summary>
    /// <exception cref="EQueueException">UnknownMember, FencedGeneration: the queues may be somebody else's.
    /// Others.</exception>
    public ValueTask CommitAsync(CancellationToken cancellationToken = default) =>
        _member.CommitAsync(_stream.Cursors, cancellationToken);

    /// <summary>Commits the messages of the queue up to this one, which is processed with that.</summary>
    /// <exception cref="ObjectDisposedException">The reader has gone on.</exception>
    /// <exception cref="EQueueException">UnknownMember, FencedGeneration: the queues may be somebody else's.
    /// Others.</exception>
    public ValueTask CommitAsync(ReceivedMessage message, CancellationToken cancellationToken = default)
    {
        var (queue, offset) = message.Place;
        queue.Processed = offset.Value + 1;
        return _member.CommitAsync([queue], cancellationToken);
    }

    /// <summary>Goes on elsewhere in a queue that this member owns.</summary>
    /// <exception cref="EQueueException">QueueNotOwned, DamagedData, Unreachable.</exception>
    public async ValueTask SeekAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken = default)
    {
        var cursor = _stream.Find(topic, queue)
            ?? throw new EQueueException(
                ErrorCode.QueueNotOwned, $"{topic}/{queue} is not one of this member's queues.");
        await _stream.SeekAsync(cursor, position, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Commits what is processed (unless that is off), leaves the group and disconnects.</summary>
    public ValueTask DisposeAsync()
    {
        lock (_lock)
            return new ValueTask(_disposal ??= DisposeOnceAsync());
    }

    private async Task DisposeOnceAsync()
    {
        await _member.DisposeAsync().ConfigureAwait(false);
        await _stream.DisposeAsync().ConfigureAwait(false);
        _onDisposed(this);
    }
}
