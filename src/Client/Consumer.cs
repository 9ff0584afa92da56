using System.Runtime.CompilerServices;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>A member of a consumer group: reads the queues that the group gives it and commits behind itself.</summary>
/// <remarks>
/// <para>Reading is for one loop at a time; everything else is thread-safe. A message counts as processed when the loop
/// goes to the next one: a loop that ends by <c>break</c> or an exception leaves its last message uncommitted
/// (<see cref="CommitAsync(ReceivedMessage, CancellationToken)"/> commits it), and a later loop continues behind
/// it.</para>
/// <para>The broker shares the queues of the topics among the members. A queue goes to another member when the loop
/// has gone on from its message and what is processed is committed; messages of it simply end or begin. What the last
/// owner had not committed comes again, in order.</para>
/// <para>Broker restarts are ridden out: the member claims its queues and continues behind what it has received,
/// without a gap and without getting anything twice. After the death of its process the group continues where it was
/// committed.</para>
/// </remarks>
public sealed class Consumer : IClosable, IDisposable
{
    private readonly MessageStream _stream;
    private readonly GroupMember _member;
    private readonly Action<Consumer> _onDisposed;
    private readonly ClientOptions _client;
    private readonly ILogger _logger;
    private readonly ClosingTime _ending;
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
        foreach (string topic in topics)
            Option.Require(NameRules.IsValid(topic), nameof(topics), topic, "a valid name");
        Group = group;
        Topics = [.. topics.Distinct(StringComparer.Ordinal)];
        _onDisposed = onDisposed;
        _client = directory.Options;
        _logger = _client.LoggerFactory.CreateLogger("EQueue.Client.Consumer");
        _ending = new ClosingTime(_client.TimeProvider);
        _stream = new MessageStream(directory, options, group);
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
    /// <exception cref="EQueueException">TagsDiffer, GroupKindDiffers, LimitReached: the group does not take it as it
    /// is. Unreachable and others.</exception>
    public ValueTask JoinAsync(CancellationToken cancellationToken = default) =>
        CallAsync(() => _member.JoinAsync(cancellationToken), cancellationToken);

    /// <summary>
    /// Yields messages without end (see <see cref="ReaderOptions.StopAtEnd"/>), each valid until the next step.
    /// </summary>
    /// <exception cref="OperationCanceledException">The token ended the loop.</exception>
    /// <exception cref="EQueueException">What cannot be ridden out: TagsDiffer, MemberReplaced, DamagedData
    /// and others.</exception>
    /// <exception cref="ObjectDisposedException">The consumer is closed.</exception>
    public IAsyncEnumerable<ReceivedMessage> ReadAllAsync(CancellationToken cancellationToken = default) =>
        new MessageEnumeration(_stream, typeof(Consumer), inBatches: false, _member.JoinAsync, cancellationToken);

    /// <summary>Yields stored batches without end, each valid until the next step. Nothing is copied.</summary>
    /// <inheritdoc cref="ReadAllAsync"/>
    public IAsyncEnumerable<ReceivedBatch> ReadBatchesAsync(CancellationToken cancellationToken = default) =>
        new MessageEnumeration(_stream, typeof(Consumer), inBatches: true, _member.JoinAsync, cancellationToken);

    /// <summary>Commits everything that is processed.</summary>
    /// <exception cref="EQueueException">UnknownMember, QueueNotOwned, FencedGeneration: queues are another member's by
    /// now. Others.</exception>
    public ValueTask CommitAsync(CancellationToken cancellationToken = default) =>
        CallAsync(() => _member.CommitAsync(cancellationToken), cancellationToken);

    /// <summary>Commits the messages of the queue up to this one, which is processed with that.</summary>
    /// <exception cref="ObjectDisposedException">The reader has gone on.</exception>
    /// <exception cref="EQueueException">UnknownMember, QueueNotOwned, FencedGeneration: the queue is another member's
    /// by now. Others.</exception>
    public ValueTask CommitAsync(ReceivedMessage message, CancellationToken cancellationToken = default)
    {
        ThrowIfClosed();
        if (cancellationToken.IsCancellationRequested)
            return ValueTask.FromCanceled(cancellationToken);
        (QueueCursor queue, QueueOffset offset) = message.Held;
        queue.Processed = offset.Value + 1;
        return CallAsync(() => _member.CommitAsync(queue, cancellationToken), cancellationToken);
    }

    /// <summary>
    /// Commits each of these queues up to the place given, wherever the loop stands: for an application whose work on
    /// a message ends later than its step, with <see cref="ConsumerOptions.AutoCommit"/> off.
    /// </summary>
    /// <param name="places">The first message of each queue that is not done: <see cref="QueuePlace.Next"/> of the last
    /// one that is. Of several places in one queue the last in the list counts. Places behind what is committed change
    /// nothing.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="EQueueException">The first refusal; the other queues are committed. QueueNotOwned: a queue is
    /// not this member's, or no longer. InvalidArgument: beyond the queue's end. UnknownMember, FencedGeneration,
    /// Unreachable and others.</exception>
    /// <remarks>Allowed within <see cref="ConsumerOptions.Revoking"/>, for the queues that it names.</remarks>
    [OverloadResolutionPriority(1)]
    public ValueTask CommitAsync(
        IReadOnlyList<QueuePlace> places, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(places);
        return CallAsync(() => CommitPlacesAsync(places, cancellationToken), cancellationToken);
    }

    /// <inheritdoc cref="CommitAsync(IReadOnlyList{QueuePlace}, CancellationToken)"/>
    /// <param name="places">How far each queue is done: its <see cref="QueueProgress.Next"/>, and nothing else of it,
    /// counts. Places behind what is committed change nothing.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    public ValueTask CommitAsync(
        IReadOnlyList<QueueProgress> places, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(places);
        return CommitAsync([.. places.Select(static queue => queue.NextPlace)], cancellationToken);
    }

    private async ValueTask CommitPlacesAsync(
        IReadOnlyList<QueuePlace> places, CancellationToken cancellationToken)
    {
        var nexts = new Dictionary<QueueCursor, long>(places.Count);
        EQueueException? failure = null;
        foreach (QueuePlace place in places)
        {
            if (_stream.FindHeld(place.Topic, place.Queue) is { } cursor)
                nexts[cursor] = place.Offset.Value;
            else
                failure ??= NotOwned(place.Topic, place.Queue);
        }

        await _member.CommitAsync(nexts, cancellationToken).ConfigureAwait(false);
        if (failure is not null)
            throw failure;
    }

    /// <summary>Seeks to another place of a queue that this member owns.</summary>
    /// <exception cref="EQueueException">QueueNotOwned, DamagedData, Unreachable.</exception>
    public ValueTask SeekAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken = default) => CallAsync(
        () => _stream.SeekAsync(FindOwned(topic, queue), position, cancellationToken), cancellationToken);

    /// <summary>Seeks to a message of a queue that this member owns.</summary>
    /// <param name="place">The message that comes next.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="EQueueException">QueueNotOwned, DamagedData, Unreachable.</exception>
    public ValueTask SeekAsync(QueuePlace place, CancellationToken cancellationToken = default) =>
        SeekAsync(place.Topic, place.Queue, StartPosition.AtOffset(place.Offset.Value), cancellationToken);

    /// <summary>
    /// Fetches no more of a queue until <see cref="Resume(string, int)"/>, or until it is another member's; what is
    /// fetched already is still given. It stays this member's, and committed.
    /// </summary>
    /// <exception cref="EQueueException">QueueNotOwned.</exception>
    public void Pause(string topic, int queue) => SetPaused(topic, queue, isPaused: true);

    /// <inheritdoc cref="Pause(string, int)"/>
    /// <param name="place">Of the queue; its offset does not count.</param>
    public void Pause(QueuePlace place) => Pause(place.Topic, place.Queue);

    /// <summary>Fetches a paused queue again.</summary>
    /// <exception cref="EQueueException">QueueNotOwned.</exception>
    public void Resume(string topic, int queue) => SetPaused(topic, queue, isPaused: false);

    /// <inheritdoc cref="Resume(string, int)"/>
    /// <param name="place">Of the queue; its offset does not count.</param>
    public void Resume(QueuePlace place) => Resume(place.Topic, place.Queue);

    /// <summary>
    /// Commits what is processed (unless that is off) and leaves the group for good, also as a static member: others
    /// have the queues at once. A later loop joins anew.
    /// </summary>
    public ValueTask LeaveAsync(CancellationToken cancellationToken = default) =>
        CallAsync(() => _member.LeaveAsync(stays: false, cancellationToken), cancellationToken);

    /// <summary>Commits what is processed (unless that is off), leaves the group and disconnects, within
    /// <see cref="ClientOptions.CloseTimeout"/>.</summary>
    /// <remarks>
    /// Where progress is not committed yet and the broker is away, its return is waited for; otherwise it ends at once.
    /// A static member leaves to come back: its queues wait for its session timeout.
    /// </remarks>
    public ValueTask DisposeAsync() => CloseAsync(_client.CloseTimeout);

    /// <summary>Closes as <see cref="DisposeAsync"/> does, and blocks until that is done.</summary>
    public void Dispose() => Blocking.Wait(DisposeAsync);

    /// <summary>Closes as <see cref="DisposeAsync"/> does, within a time of its own.</summary>
    /// <param name="timeout">How long it may take; zero = nothing is waited for. Of several calls the one whose time
    /// ends first holds.</param>
    /// <exception cref="ArgumentOutOfRangeException">The time is below zero or more than 20 days.</exception>
    public ValueTask CloseAsync(TimeSpan timeout)
    {
        Option.CheckCloseTimeout(timeout);
        Task ended = _ending.EndWithinAsync(timeout);
        lock (_lock)
            _disposal ??= DisposeOnceAsync();
        return new ValueTask(Task.WhenAll(ended, _disposal));
    }

    private async Task DisposeOnceAsync()
    {
        Task leaving = _member.CloseAsync(_ending.Over).AsTask();
        if (!await _ending.CompletesAsync(leaving).ConfigureAwait(false))
            Log.CallbackKept(_logger, Group);
        await _stream.DisposeAsync().ConfigureAwait(false);
        _onDisposed(this);
    }

    /// <summary>A call of the application; a callback may still commit while the consumer closes.</summary>
    private ValueTask CallAsync(Func<ValueTask> work, CancellationToken cancellationToken)
    {
        ThrowIfClosed();
        return PublicCall.RunAsync(typeof(Consumer), work, cancellationToken);
    }

    private void ThrowIfClosed() => ObjectDisposedException.ThrowIf(_disposal is { IsCompleted: true }, this);

    private void SetPaused(string topic, int queue, bool isPaused)
    {
        ThrowIfClosed();
        QueueCursor cursor = FindOwned(topic, queue);
        cursor.Session.SetPaused(cursor, isPaused);
    }

    private QueueCursor FindOwned(string topic, int queue) =>
        _stream.Find(topic, queue) ?? throw NotOwned(topic, queue);

    private static EQueueException NotOwned(string topic, int queue) =>
        new(ErrorCode.QueueNotOwned, $"{topic}/{queue} is not one of this member's queues.");
}
