using EQueue.Protocol;

namespace EQueue.Client;

/// <content>The other ways to send: blocking, with a callback, oneway, many at once.</content>
public sealed partial class Producer
{
    /// <summary>Sends a message and blocks this thread until it is stored. Safe on any thread.</summary>
    public SendReceipt Send(
        string topic,
        ReadOnlySpan<byte> body,
        string? key = null,
        string? tag = null,
        RecordProperties? properties = null,
        CancellationToken cancellationToken = default)
    {
        Span<byte> room = stackalloc byte[TextBytes];
        return Send(topic, ContentOf(new OptionalBytes(body), key, tag, properties, room), cancellationToken);
    }

    /// <summary>
    /// Sends a message whose parts may be absent and blocks this thread until it is stored. Safe on any thread.
    /// </summary>
    public SendReceipt Send(string topic, Message message, CancellationToken cancellationToken = default)
    {
        Span<byte> room = stackalloc byte[TextBytes];
        RecordContent content = ContentOf(BodyOf(message), message.Key, message.Tag, message.Properties, room);
        return Send(topic, content, cancellationToken);
    }

    /// <summary>
    /// Sends a message given as bytes throughout and blocks this thread until it is stored. Safe on any thread.
    /// </summary>
    public SendReceipt Send(string topic, in RecordContent content, CancellationToken cancellationToken = default)
    {
        TopicLane lane = FindTopic(topic, cancellationToken);
        return lane.TryAppend(content, null, null, out Awaitable awaitable)
            ? awaitable.Batch.Wait(awaitable.Token)
            : lane.AppendWhenPossible(content, null, null, cancellationToken)
                .ToValueTask().AsTask().GetAwaiter().GetResult();
    }

    /// <summary>
    /// Sends a message and tells the callback what became of it. Allocates nothing in the usual case.
    /// </summary>
    /// <param name="topic">The topic.</param>
    /// <param name="message">Encoded before the call returns, unless it must wait: then a copy is kept.</param>
    /// <param name="callback">Called once, on a thread where it may block
    /// (<see cref="ProducerOptions.InlineCompletions"/>: the receiving one). Callbacks of different batches may run at
    /// the same time, and in another order than they were sent in.</param>
    /// <param name="state">Handed to the callback.</param>
    /// <param name="cancellationToken">Ends the wait for memory or for the route.</param>
    /// <exception cref="EQueueException">Only what is known at once: InvalidName, MessageTooLarge. The callback is told
    /// everything else, with the codes Cancelled and Disposed among them.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled before the call.</exception>
    /// <exception cref="ObjectDisposedException">The producer was closed before the call.</exception>
    public void Send(
        string topic,
        Message message,
        SendCallback callback,
        object? state = null,
        CancellationToken cancellationToken = default)
    {
        if (message.Key is null && message.Tag is null)
        {
            Send(
                topic,
                new RecordContent { Body = BodyOf(message), Properties = message.Properties },
                callback,
                state,
                cancellationToken);
            return;
        }

        Span<byte> room = stackalloc byte[TextBytes];
        RecordContent content = ContentOf(BodyOf(message), message.Key, message.Tag, message.Properties, room);
        Send(topic, content, callback, state, cancellationToken);
    }

    /// <summary>Sends a message given as bytes throughout and tells the callback what became of it.</summary>
    /// <exception cref="EQueueException">Only what is known at once: InvalidName, MessageTooLarge. The callback is told
    /// everything else, with the codes Cancelled and Disposed among them.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled before the call.</exception>
    /// <exception cref="ObjectDisposedException">The producer was closed before the call.</exception>
    public void Send(
        string topic,
        in RecordContent content,
        SendCallback callback,
        object? state = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(callback);
        TopicLane lane = FindTopic(topic, cancellationToken);
        if (!lane.TryAppend(content, callback, state, out _))
            lane.AppendWhenPossible(content, callback, state, cancellationToken);
    }

    /// <summary>
    /// Sends a message that nobody acknowledges: returns when it is in memory. It may be lost with the connection, and
    /// nothing tells.
    /// </summary>
    /// <exception cref="EQueueException">InvalidName, MessageTooLarge; LimitReached with
    /// <see cref="OnewayFullPolicy.Throw"/>; Timeout while it waited for memory or for the route.</exception>
    public void SendOneway(
        string topic,
        ReadOnlySpan<byte> body,
        string? key = null,
        string? tag = null,
        RecordProperties? properties = null,
        CancellationToken cancellationToken = default)
    {
        if (key is null && tag is null)
        {
            SendOneway(
                topic,
                new RecordContent { Body = new OptionalBytes(body), Properties = properties },
                cancellationToken);
            return;
        }

        Span<byte> room = stackalloc byte[TextBytes];
        SendOneway(topic, ContentOf(new OptionalBytes(body), key, tag, properties, room), cancellationToken);
    }

    /// <summary>Sends a message given as bytes throughout that nobody acknowledges.</summary>
    /// <exception cref="EQueueException">As for the other form.</exception>
    public void SendOneway(string topic, in RecordContent content, CancellationToken cancellationToken = default)
    {
        TopicLane lane = FindTopic(topic, cancellationToken);
        if (lane.TryAppendOneway(content))
            return;
        if (lane.IsKnownFor(content.Key.HasValue) && Options.OnewayWhenFull == OnewayFullPolicy.Throw)
        {
            throw new EQueueException(
                ErrorCode.LimitReached, $"{Options.BufferMemoryBytes} bytes of messages wait to be sent.");
        }

        SendOnewaySlowAsync(lane, new MessageCopy(content), cancellationToken).AsTask().GetAwaiter().GetResult();
    }

    /// <summary>Sends messages in order; completes when all of them are stored.</summary>
    /// <param name="topic">The topic.</param>
    /// <param name="messages">Not to be changed until the call completes. All are checked before the first is
    /// sent.</param>
    /// <param name="cancellationToken">Ends the wait for memory or for the route; what was accepted before is
    /// sent.</param>
    /// <exception cref="EQueueException">The first failure, when every message is settled: others may be
    /// stored.</exception>
    public async ValueTask<BatchReceipt> SendBatchAsync(
        string topic, IReadOnlyList<Message> messages, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(messages);
        TopicLane lane = FindTopic(topic, cancellationToken);
        foreach (Message message in messages)
            TagRules.Check(message.Tag);
        var encoder = new MessageEncoder(messages);
        var runs = new List<(int FirstIndex, Awaitable Awaitable)>();
        int next = 0;
        if (lane.IsAtRest)
        {
            lane.Check(encoder);
            next = AppendRuns(lane, encoder, 0, runs);
        }

        if (next < encoder.Count)
            await AppendRunsSlowAsync(lane, encoder, next, runs, cancellationToken).ConfigureAwait(false);

        var receipts = new BatchReceipt.Run[runs.Count];
        Exception? failure = null;
        for (int i = 0; i < receipts.Length; i++)
        {
            try
            {
                SendReceipt receipt = await runs[i].Awaitable.ToValueTask().ConfigureAwait(false);
                receipts[i] = new BatchReceipt.Run(runs[i].FirstIndex, receipt);
            }
            catch (Exception exception) when (exception is EQueueException or ObjectDisposedException)
            {
                failure ??= exception;
            }
        }

        return failure is null ? new BatchReceipt(receipts, encoder.Count) : throw failure;
    }

    private static int AppendRuns(
        TopicLane lane, MessageEncoder messages, int next, List<(int FirstIndex, Awaitable Awaitable)> runs)
    {
        while (next < messages.Count)
        {
            int taken = lane.TryAppendRun(messages, next, out Awaitable awaitable);
            if (taken == 0)
                break;
            runs.Add((next, awaitable));
            next += taken;
        }

        return next;
    }

    private async ValueTask AppendRunsSlowAsync(
        TopicLane lane,
        MessageEncoder messages,
        int next,
        List<(int FirstIndex, Awaitable Awaitable)> runs,
        CancellationToken cancellationToken)
    {
        using var patience = new Patience(this, lane, messages.HasKeys, cancellationToken);
        try
        {
            using IDisposable turn = await TakeTurnAsync(lane, messages.HasKeys, patience.Token).ConfigureAwait(false);
            while (next < messages.Count)
            {
                bool isKeyed = messages.HasKey(next);
                await lane.ResolveAsync(isKeyed, patience.Token).ConfigureAwait(false);
                if (next == 0)
                    lane.Check(messages);
                Task released = Budget.WhenReleased();
                int reached = AppendRuns(lane, messages, next, runs);
                if (reached == next && lane.IsKnownFor(isKeyed))
                    await released.WaitAsync(patience.Token).ConfigureAwait(false);
                next = reached;
            }
        }
        catch (Exception exception) when (Patience.Covers(exception))
        {
            throw patience.Explain(exception);
        }
    }

    /// <summary>The turn of a call in the order of calls. With keys it is given up while a broker has never told its
    /// share: those without need not wait for that.</summary>
    private static async ValueTask<IDisposable> TakeTurnAsync(
        TopicLane lane, bool hasKeys, CancellationToken cancellationToken)
    {
        while (true)
        {
            bool mustPassKeys = hasKeys && (lane.IsWhole || !lane.IsResolved);
            IDisposable turn = await lane.TakeTurnAsync(mustPassKeys, cancellationToken).ConfigureAwait(false);
            try
            {
                await lane.ResolveAsync(isKeyed: false, cancellationToken).ConfigureAwait(false);
            }
            catch
            {
                turn.Dispose();
                throw;
            }

            if (!hasKeys || lane.IsWhole)
                return turn;
            turn.Dispose();
            await lane.ResolveAsync(isKeyed: true, cancellationToken).ConfigureAwait(false);
        }
    }

    private async ValueTask SendOnewaySlowAsync(
        TopicLane lane, MessageCopy message, CancellationToken cancellationToken)
    {
        using var patience = new Patience(this, lane, message.Content.Key.HasValue, cancellationToken);
        try
        {
            await lane.AppendOnewayWhenPossibleAsync(message, patience.Token).ConfigureAwait(false);
        }
        catch (Exception exception) when (Patience.Covers(exception))
        {
            throw patience.Explain(exception);
        }
    }

    /// <summary>
    /// How long a send waits before it is accepted: the delivery timeout, the caller's token, the producer's end.
    /// </summary>
    private sealed class Patience : IDisposable
    {
        private readonly Producer _producer;
        private readonly TopicLane _topic;
        private readonly bool _isKeyed;
        private readonly CancellationToken _callerToken;
        private readonly CancellationTokenSource _timeout;
        private readonly CancellationTokenSource _either;

        public Patience(Producer producer, TopicLane topic, bool isKeyed, CancellationToken callerToken)
        {
            _producer = producer;
            _topic = topic;
            _isKeyed = isKeyed;
            _callerToken = callerToken;
            _timeout = new CancellationTokenSource(producer.Options.DeliveryTimeout, producer.Time);
            _either = CancellationTokenSource.CreateLinkedTokenSource(
                _timeout.Token, callerToken, producer._closing.Token);
        }

        public CancellationToken Token => _either.Token;

        /// <summary>Whether the exception is an outcome that the user is told of.</summary>
        public static bool Covers(Exception exception) => exception is OperationCanceledException or EQueueException;

        /// <summary>The exception for the user.</summary>
        public Exception Explain(Exception exception)
        {
            if (exception is EQueueException { Code: not (ErrorCode.Cancelled or ErrorCode.Disposed) } known)
                return known;
            if (_callerToken.IsCancellationRequested)
                return PublicCall.Anew(Faults.Cancelled(_callerToken));
            if (_producer._closing.IsCancellationRequested)
                return new ProducerClosedException(mayBeStored: false);
            return Shortage.Of(_producer, _topic, _isKeyed);
        }

        public void Dispose()
        {
            _either.Dispose();
            _timeout.Dispose();
        }
    }
}
