using System.Runtime.CompilerServices;

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

    /// <summary>Sends a text as UTF-8 and blocks this thread until it is stored. Safe on any thread.</summary>
    /// <exception cref="ArgumentException">The body is null or not valid UTF-16; nothing is sent.</exception>
    [OverloadResolutionPriority(1)]
    public SendReceipt Send(
        string topic,
        string body,
        string? key = null,
        string? tag = null,
        RecordProperties? properties = null,
        CancellationToken cancellationToken = default)
    {
        using var text = new EncodedText(body, stackalloc byte[TextBytes]);
        return Send(topic, text.Bytes, key, tag, properties, cancellationToken);
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
            : lane.Lines.Add(content, null, null, cancellationToken)
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
            lane.Lines.Add(content, callback, state, cancellationToken);
    }

    /// <summary>
    /// Sends a message without acknowledgement: returns when it is in memory. It may be lost with the connection, and
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

    /// <summary>Sends a text as UTF-8 without acknowledgement.</summary>
    /// <exception cref="ArgumentException">The body is null or not valid UTF-16; nothing is sent.</exception>
    /// <exception cref="EQueueException">As for the other form.</exception>
    [OverloadResolutionPriority(1)]
    public void SendOneway(
        string topic,
        string body,
        string? key = null,
        string? tag = null,
        RecordProperties? properties = null,
        CancellationToken cancellationToken = default)
    {
        using var text = new EncodedText(body, stackalloc byte[TextBytes]);
        SendOneway(topic, text.Bytes, key, tag, properties, cancellationToken);
    }

    /// <summary>Sends a message given as bytes throughout, without acknowledgement.</summary>
    /// <exception cref="EQueueException">As for the other form.</exception>
    public void SendOneway(string topic, in RecordContent content, CancellationToken cancellationToken = default)
    {
        TopicLane lane = FindTopic(topic, cancellationToken);
        if (lane.TryAppendOneway(content))
            return;
        if (lane.IsKnownFor(content.Key.HasValue) && _terms.Options.OnewayWhenFull == OnewayFullPolicy.Throw)
        {
            throw new EQueueException(
                ErrorCode.LimitReached, $"{_terms.Options.BufferMemoryBytes} bytes of messages wait to be sent.");
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
    public ValueTask<BatchReceipt> SendBatchAsync(
        string topic, IReadOnlyList<Message> messages, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(messages);
        try
        {
            return SendRuns.SendAsync(_terms, FindTopic(topic, cancellationToken), messages, cancellationToken);
        }
        catch (OperationCanceledException exception)
        {
            return ValueTask.FromCanceled<BatchReceipt>(exception.CancellationToken);
        }
        catch (Exception exception) when (exception is EQueueException or ObjectDisposedException)
        {
            return ValueTask.FromException<BatchReceipt>(exception);
        }
    }

    private async ValueTask SendOnewaySlowAsync(
        TopicLane lane, MessageCopy message, CancellationToken cancellationToken)
    {
        using var patience = new SendPatience(_terms, lane, message.Content.Key.HasValue, cancellationToken);
        try
        {
            await lane.AppendOnewayWhenPossibleAsync(message, patience.Token).ConfigureAwait(false);
        }
        catch (Exception exception) when (SendPatience.Covers(exception))
        {
            throw patience.Explain(exception);
        }
    }
}
