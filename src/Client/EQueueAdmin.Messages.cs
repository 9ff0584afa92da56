using System.Text;
using EQueue.Protocol;

namespace EQueue.Client;

/// <content>Single messages: by offset, by time, the latest, by key.</content>
/// <remarks>
/// Each look-up asks the brokers that hold the queues, over connections that it makes and ends. Nothing is committed.
/// A connection that is lost while messages are read ends it with ConnectionLost: ask again.
/// </remarks>
public sealed partial class EQueueAdmin
{
    /// <summary>Reads the message at an offset.</summary>
    /// <param name="topic">Its name.</param>
    /// <param name="queue">The queue's number in the topic.</param>
    /// <param name="offset">0 or more.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>The message; null when the queue has none there: not yet, or no more.</returns>
    /// <exception cref="EQueueException">UnknownTopic, UnknownQueue; DamagedData, UnsupportedCodec: it is there and
    /// cannot be read.</exception>
    public ValueTask<DetachedMessage?> ReadMessageAsync(
        string topic, int queue, long offset, CancellationToken cancellationToken = default)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        return _calls.FindAsync(
            topic, finder => finder.ReadAsync(queue, offset, cancellationToken), cancellationToken);
    }

    /// <inheritdoc cref="ReadMessageAsync(string, int, long, CancellationToken)"/>
    /// <param name="place">Its place, as a receipt or a message tells it.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public ValueTask<DetachedMessage?> ReadMessageAsync(
        QueuePlace place, CancellationToken cancellationToken = default) =>
        ReadMessageAsync(place.Topic, place.Queue, place.Offset.Value, cancellationToken);

    /// <summary>Reads the messages that came at a time and after it, the oldest first.</summary>
    /// <param name="topic">Its name.</param>
    /// <param name="since">Stored then or later.</param>
    /// <param name="until">Stored before; null = up to the end at the time of the call.</param>
    /// <param name="queue">Only this queue, by number; null = all.</param>
    /// <param name="limit">1 to 10,000: the oldest of them.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="EQueueException">UnknownTopic, UnknownQueue.</exception>
    public ValueTask<FoundMessages> ReadFromTimeAsync(
        string topic,
        DateTimeOffset since,
        DateTimeOffset? until = null,
        int? queue = null,
        int limit = 100,
        CancellationToken cancellationToken = default)
    {
        CheckCount(limit, nameof(limit));
        return _calls.FindAsync(
            topic, finder => finder.ReadRangeAsync(since, until, queue, limit, cancellationToken), cancellationToken);
    }

    /// <summary>Reads the latest messages, the oldest of them first.</summary>
    /// <param name="topic">Its name.</param>
    /// <param name="count">How many of all queues together; 1 to 10,000. Offsets are counted: where messages are
    /// missing, fewer may come.</param>
    /// <param name="queue">Only this queue, by number; null = all.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="EQueueException">UnknownTopic, UnknownQueue.</exception>
    public ValueTask<FoundMessages> ReadLatestAsync(
        string topic, int count, int? queue = null, CancellationToken cancellationToken = default)
    {
        CheckCount(count, nameof(count));
        return _calls.FindAsync(
            topic, finder => finder.ReadLatestAsync(count, queue, cancellationToken), cancellationToken);
    }

    /// <inheritdoc cref="FindByKeyAsync(string, ReadOnlyMemory{byte}, KeySearchOptions, CancellationToken)"/>
    /// <param name="topic">Its name.</param>
    /// <param name="key">The key; its UTF-8 bytes are looked for.</param>
    /// <param name="options">Where to look, and how much to give; null = the defaults.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public ValueTask<FoundMessages> FindByKeyAsync(
        string topic, string key, KeySearchOptions? options = null, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(key);
        return FindByKeyAsync(topic, Encoding.UTF8.GetBytes(key), options, cancellationToken);
    }

    /// <summary>Finds messages by key, the oldest first.</summary>
    /// <param name="topic">Its name.</param>
    /// <param name="key">The key's bytes, at most 65,536; may be empty. Messages without a key are not found by
    /// any.</param>
    /// <param name="options">Where to look, and how much to give; null = the defaults.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <remarks>
    /// The broker looks through the queue in bounded steps, within its budget for cold reads: a queue of many GB takes
    /// its time. <see cref="KeySearchOptions.Since"/> bounds it.
    /// </remarks>
    /// <exception cref="EQueueException">UnknownTopic, UnknownQueue, InvalidArgument, UnknownOperation: the broker is
    /// older.</exception>
    /// <exception cref="ArgumentException">An option is outside its range.</exception>
    public ValueTask<FoundMessages> FindByKeyAsync(
        string topic,
        ReadOnlyMemory<byte> key,
        KeySearchOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        options ??= new KeySearchOptions();
        options.Validate();
        if (key.Length > FindByKeyRequest.MaxKeyBytes)
        {
            return ValueTask.FromException<FoundMessages>(new EQueueException(
                ErrorCode.InvalidArgument,
                $"A key has at most {FindByKeyRequest.MaxKeyBytes} bytes; asked for one of {key.Length}."));
        }

        return _calls.FindAsync(
            topic, finder => finder.FindByKeyAsync(key, options, cancellationToken), cancellationToken);
    }

    private static void CheckCount(int count, string name)
    {
        if (count is < 1 or > FoundMessages.MaxCount)
            throw new ArgumentOutOfRangeException(name, count, $"A look-up gives {FoundMessages.CountRange} messages.");
    }
}
