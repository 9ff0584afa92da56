using System.Collections.Concurrent;
using System.Text;
using System.Threading.Tasks.Sources;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>
/// Sends messages: gathers them into batches by itself, retries without duplicates, keeps the order of each key.
/// </summary>
/// <remarks>
/// <para>Thread-safe. Bytes, keys and tags are encoded before a call returns, unless it must wait for memory or for the
/// topic's route: then it keeps a copy. A returned <see cref="ValueTask{T}"/> may be awaited once.</para>
/// <para>Failures are <see cref="EQueueException"/>; a cancelled token throws
/// <see cref="OperationCanceledException"/>, a closed producer <see cref="ProducerClosedException"/> or
/// <see cref="ObjectDisposedException"/>. A cancelled send that was accepted into a batch already is sent
/// all the same: the token ends only the wait before that.</para>
/// </remarks>
public sealed partial class Producer : IClosable, IDisposable
{
    private const int TextBytes = 512;
    private const int MaxPooledBatches = 1024;

    /// <summary>A topic that is full may hold one part of the memory in so many; one part is never theirs.</summary>
    private const int BoundedShare = 4;

    private readonly BrokerDirectory _directory;
    private readonly ConcurrentDictionary<string, TopicLane> _topics = new(StringComparer.Ordinal);
    private readonly ConcurrentQueue<SendBatch> _batches = new();

    /// <summary>By broker, and by topic where its backlog is bounded.</summary>
    private readonly Dictionary<(ServerAddress Address, string? Topic), BrokerLane> _lanes = [];
    private readonly Endings _retired = new();
    private readonly Lock _lock = new();
    private readonly CancellationTokenSource _closing = new();
    private readonly Action<Producer> _onDisposed;

    /// <summary>What topics with a bounded backlog may hold together.</summary>
    private readonly SendBudget _boundedBudget;
    private readonly Task _refreshes;

    /// <summary>Completes when the last callback of a send that gave up has returned.</summary>
    private readonly TaskCompletionSource _told = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private TopicLane? _lastTopic;
    private Task? _disposal;
    private volatile bool _isDisposed;
    private int _moves;
    private int _telling = 1;

    internal Producer(BrokerDirectory directory, ProducerOptions options, Action<Producer> onDisposed)
    {
        options.Validate();
        _directory = directory;
        _onDisposed = onDisposed;
        Options = options;
        Budget = new SendBudget(options.BufferMemoryBytes);
        _boundedBudget = new SendBudget(options.BufferMemoryBytes / BoundedShare * (BoundedShare - 1), Budget);
        Time = directory.Options.TimeProvider;
        _ending = new ClosingTime(Time);
        Logger = directory.Options.LoggerFactory.CreateLogger("EQueue.Client.Producer");
        _refreshes = Task.Run(RunRefreshesAsync);
        ClientGauges.Add(this);
    }

    internal ProducerOptions Options { get; }

    internal SendBudget Budget { get; }

    internal TimeProvider Time { get; }

    internal ILogger Logger { get; }

    /// <summary>Whether messages may go to one broker or another.</summary>
    internal bool HasSeveralBrokers => _directory.ShareCount > 1;

    /// <summary>Why brokers cannot be asked for routes, in words; null = nothing is known to be wrong.</summary>
    internal string? RouteTrouble => _directory.Trouble;

    /// <summary>Ends every wait of the producer.</summary>
    internal CancellationToken Closing => _closing.Token;

    /// <summary>Bytes of memory held for messages that are not acknowledged.</summary>
    public long BufferedBytes => Budget.Used;

    /// <summary>Sends a message; completes when it is stored. Allocates nothing in the usual case.</summary>
    /// <param name="topic">Made by the broker if it is missing and that is allowed.</param>
    /// <param name="body">The message itself.</param>
    /// <param name="key">Messages of one key keep their order and share a queue; null: any queue.</param>
    /// <param name="tag">A word to filter by.</param>
    /// <param name="properties">Name-value pairs.</param>
    /// <param name="cancellationToken">Ends the wait for memory or for the route. When it has been cancelled before,
    /// nothing is sent.</param>
    public ValueTask<SendReceipt> SendAsync(
        string topic,
        ReadOnlySpan<byte> body,
        string? key = null,
        string? tag = null,
        RecordProperties? properties = null,
        CancellationToken cancellationToken = default) => key is null && tag is null
        ? SendAsync(
            topic,
            new RecordContent { Body = new OptionalBytes(body), Properties = properties },
            cancellationToken)
        : SendEncoded(topic, new OptionalBytes(body), key, tag, properties, cancellationToken);

    /// <summary>Sends a message; completes when it is stored. The body is copied before the call returns.</summary>
    public ValueTask<SendReceipt> SendAsync(
        string topic,
        ReadOnlyMemory<byte> body,
        string? key = null,
        string? tag = null,
        RecordProperties? properties = null,
        CancellationToken cancellationToken = default) =>
        SendAsync(topic, body.Span, key, tag, properties, cancellationToken);

    /// <summary>Sends a message whose parts may be absent; completes when it is stored.</summary>
    public ValueTask<SendReceipt> SendAsync(
        string topic, Message message, CancellationToken cancellationToken = default) =>
        SendEncoded(topic, BodyOf(message), message.Key, message.Tag, message.Properties, cancellationToken);

    /// <summary>Sends a message given as bytes throughout; completes when it is stored.</summary>
    public ValueTask<SendReceipt> SendAsync(
        string topic, in RecordContent content, CancellationToken cancellationToken = default)
    {
        // Made outside of the try: out of one, a result of six words goes through the stack twice.
        IValueTaskSource<SendReceipt> source =
            Append(topic, content, cancellationToken, out int number, out Exception? failure);
        if (failure is not null)
            return Failed(failure);
        return new ValueTask<SendReceipt>(source, (short)number);
    }

    /// <summary>A batch goes from one lane to another. Under the gates of both.</summary>
    internal void NoteMove() => Interlocked.Increment(ref _moves);

    /// <summary>
    /// Completes when everything sent before is stored or has failed. Does not throw for what failed.
    /// </summary>
    /// <exception cref="OperationCanceledException">The token ended the wait.</exception>
    /// <exception cref="ObjectDisposedException">The producer is closed.</exception>
    public ValueTask FlushAsync(CancellationToken cancellationToken = default)
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        return PublicCall.RunAsync(typeof(Producer), () => FlushAllAsync(cancellationToken), cancellationToken);
    }

    /// <summary>The ways to its brokers, as they are now.</summary>
    internal BrokerLane[] Lanes()
    {
        lock (_lock)
            return [.. _lanes.Values];
    }

    /// <summary>Sends that wait for a route or for memory, by topic.</summary>
    internal IEnumerable<KeyValuePair<string, long>> Waiting() =>
        _topics.Values.Select(static topic => KeyValuePair.Create(topic.Name, (long)topic.WaitingCount));

    /// <summary>A callback is about to be called; disposing waits for it.</summary>
    internal void BeginTelling() => Interlocked.Increment(ref _telling);

    /// <summary>The callback has returned.</summary>
    internal void EndTelling()
    {
        if (Interlocked.Decrement(ref _telling) == 0)
            _told.TrySetResult();
    }

    /// <summary>The memory of one topic with a bounded backlog.</summary>
    internal SendBudget NewBoundedBudget() => new(Options.BufferMemoryBytes / BoundedShare, _boundedBudget);

    /// <summary>A batch object, used before or new.</summary>
    internal SendBatch RentBatch() => _batches.TryDequeue(out SendBatch? batch) ? batch : new SendBatch(this);

    /// <summary>Takes back a batch object that nobody refers to any more.</summary>
    internal void Recycle(SendBatch batch)
    {
        if (_batches.Count < MaxPooledBatches)
            _batches.Enqueue(batch);
    }

    private TopicLane FindTopic(string topic, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(topic);
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        cancellationToken.ThrowIfCancellationRequested();
        TopicLane? last = Volatile.Read(ref _lastTopic);
        if (last is not null && ReferenceEquals(last.Name, topic))
            return last;
        if (!_topics.TryGetValue(topic, out TopicLane? lane))
        {
            if (!NameRules.IsValid(topic))
            {
                throw new EQueueException(
                    ErrorCode.InvalidName, $"{ErrorCodes.Describe(ErrorCode.InvalidName)}: '{topic}'.");
            }

            lane = _topics.GetOrAdd(topic, static (name, producer) => new TopicLane(producer, name), this);
        }

        Volatile.Write(ref _lastTopic, lane);
        return lane;
    }

    /// <summary>Has a message sent now or when there is room.</summary>
    /// <returns>The awaitable's source; null with a <paramref name="failure"/>.</returns>
    private IValueTaskSource<SendReceipt> Append(
        string topic,
        in RecordContent content,
        CancellationToken cancellationToken,
        out int number,
        out Exception? failure)
    {
        failure = null;
        try
        {
            TopicLane lane = FindTopic(topic, cancellationToken);
            if (lane.TryAppend(content, null, null, out Awaitable awaitable))
            {
                number = awaitable.Number;
                return awaitable.Batch;
            }

            WaitingSend waiting = lane.AppendWhenPossible(content, null, null, cancellationToken);
            number = waiting.Token;
            return waiting;
        }
        catch (Exception exception)
            when (exception is EQueueException or OperationCanceledException or ObjectDisposedException)
        {
            failure = exception;
            number = 0;
            return null!;
        }
    }

    private static ValueTask<SendReceipt> Failed(Exception failure) =>
        failure is OperationCanceledException cancelled
            ? ValueTask.FromCanceled<SendReceipt>(cancelled.CancellationToken)
            : ValueTask.FromException<SendReceipt>(failure);

    private ValueTask<SendReceipt> SendEncoded(
        string topic,
        OptionalBytes body,
        string? key,
        string? tag,
        RecordProperties? properties,
        CancellationToken cancellationToken)
    {
        Span<byte> room = stackalloc byte[TextBytes];
        return SendAsync(topic, ContentOf(body, key, tag, properties, room), cancellationToken);
    }

    private static OptionalBytes BodyOf(in Message message) =>
        message.Body is { } body ? new OptionalBytes(body.Span) : default;

    /// <summary>A message's parts as bytes; valid as long as <paramref name="room"/>.</summary>
    /// <param name="body">The message itself.</param>
    /// <param name="key">Its key.</param>
    /// <param name="tag">Its tag.</param>
    /// <param name="properties">Its properties.</param>
    /// <param name="room">Where key and tag are encoded, as far as they fit.</param>
    private static RecordContent ContentOf(
        OptionalBytes body, string? key, string? tag, RecordProperties? properties, Span<byte> room)
    {
        TagRules.Check(tag);
        return new RecordContent
        {
            Key = Encode(key, ref room),
            Body = body,
            Tag = Encode(tag, ref room),
            Properties = properties,
        };
    }

    private static OptionalBytes Encode(string? text, scoped ref Span<byte> room)
    {
        if (text is null)
            return default;
        int most = Encoding.UTF8.GetMaxByteCount(text.Length);
        if (most > room.Length)
            return new OptionalBytes(Encoding.UTF8.GetBytes(text));
        Span<byte> encoded = room[..Encoding.UTF8.GetBytes(text, room)];
        room = room[encoded.Length..];
        return new OptionalBytes(encoded);
    }
}
