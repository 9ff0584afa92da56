using System.Runtime.CompilerServices;
using System.Threading.Tasks.Sources;
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
public sealed partial class Producer : IClosable, ISendLevels, IDisposable
{
    private const int TextBytes = MessageEncoder.TextBytes;

    private readonly BrokerDirectory _directory;
    private readonly SendTerms _terms;
    private readonly SendRoutes _routes;
    private readonly Lock _lock = new();
    private readonly CancellationTokenSource _closing = new();
    private readonly ClosingTime _ending;
    private readonly Action<Producer> _onDisposed;
    private TopicLane? _lastTopic;
    private Task? _disposal;
    private volatile bool _isDisposed;

    internal Producer(BrokerDirectory directory, ProducerOptions options, Action<Producer> onDisposed)
    {
        options.Validate();
        _directory = directory;
        _onDisposed = onDisposed;
        TimeProvider time = directory.Options.TimeProvider;
        ILogger logger = directory.Options.LoggerFactory.CreateLogger("EQueue.Client.Producer");
        _terms = new SendTerms(options, time, logger, _closing.Token);
        _routes = new SendRoutes(directory, _terms);
        _ending = new ClosingTime(time);
        ClientGauges.Add(this);
    }

    /// <summary>Bytes of memory held for messages that are not acknowledged.</summary>
    public long BufferedBytes => _terms.Budget.Used;

    /// <summary>Sends a message; completes when it is stored. Allocates nothing in the usual case.</summary>
    /// <param name="topic">Made by the broker if it is missing and that is allowed.</param>
    /// <param name="body">The message itself.</param>
    /// <param name="key">Messages of one key keep their order and share a queue; null: any queue.</param>
    /// <param name="tag">A word to filter by.</param>
    /// <param name="properties">Name-value pairs.</param>
    /// <param name="cancellationToken">Ends the wait for memory or for the route. When it has been cancelled before,
    /// nothing is sent.</param>
    [OverloadResolutionPriority(1)]
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

    /// <summary>Sends a text as UTF-8; completes when it is stored. Allocates nothing in the usual case.</summary>
    /// <param name="topic">Made by the broker if it is missing and that is allowed.</param>
    /// <param name="body">The message itself; may be empty. <see cref="Message"/> sends one without a body.</param>
    /// <param name="key">Messages of one key keep their order and share a queue; null: any queue.</param>
    /// <param name="tag">A word to filter by.</param>
    /// <param name="properties">Name-value pairs.</param>
    /// <param name="cancellationToken">Ends the wait for memory or for the route. When it has been cancelled before,
    /// nothing is sent.</param>
    /// <exception cref="ArgumentException">The body is null or not valid UTF-16; nothing is sent.</exception>
    [OverloadResolutionPriority(2)]
    public ValueTask<SendReceipt> SendAsync(
        string topic,
        string body,
        string? key = null,
        string? tag = null,
        RecordProperties? properties = null,
        CancellationToken cancellationToken = default)
    {
        ValueTask<SendReceipt> sending;
        using (var text = new EncodedText(body, stackalloc byte[TextBytes]))
            sending = SendAsync(topic, text.Bytes, key, tag, properties, cancellationToken);
        return sending;
    }

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

    IEnumerable<KeyValuePair<ServerAddress, long>> ISendLevels.InFlightRequests() =>
        _routes.Lanes().Select(static lane => KeyValuePair.Create(lane.Address, (long)lane.Leaving.InFlight));

    IEnumerable<KeyValuePair<ServerAddress, long>> ISendLevels.InFlightBytes() =>
        _routes.Lanes().Select(static lane => KeyValuePair.Create(lane.Address, lane.InFlightBytes));

    IEnumerable<KeyValuePair<string, long>> ISendLevels.WaitingSends() =>
        _routes.Topics.Select(static topic => KeyValuePair.Create(topic.Name, (long)topic.Lines.Count));

    private TopicLane FindTopic(string topic, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(topic);
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        cancellationToken.ThrowIfCancellationRequested();
        TopicLane? last = Volatile.Read(ref _lastTopic);
        if (last is not null && ReferenceEquals(last.Name, topic))
            return last;
        TopicLane lane = _routes.Find(topic);
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

            WaitingSend waiting = lane.Lines.Add(content, null, null, cancellationToken);
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
            Key = MessageEncoder.Encode(key, ref room),
            Body = body,
            Tag = MessageEncoder.Encode(tag, ref room),
            Properties = properties,
        };
    }
}
