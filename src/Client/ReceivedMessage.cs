using System.Diagnostics;
using System.Text;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A message in the memory it was received into: valid until the reader goes to the next one.</summary>
/// <remarks>
/// Reading it later throws <see cref="ObjectDisposedException"/>. What <see cref="Body"/> and <see cref="Key"/> gave
/// must not be kept either; <see cref="Detach"/> makes a copy that may.
/// </remarks>
public readonly struct ReceivedMessage
{
    private readonly MessageCursor _cursor;
    private readonly long _generation;

    internal ReceivedMessage(MessageCursor cursor, long generation)
    {
        _cursor = cursor;
        _generation = generation;
    }

    /// <summary>The topic.</summary>
    public string Topic => Current.Queue.Topic;

    /// <summary>The queue's number in the topic.</summary>
    public int Queue => Current.Queue.Number;

    /// <summary>Its place in the queue.</summary>
    public QueueOffset Offset => Current.Offset;

    /// <summary>Topic, queue and offset together; it may be kept.</summary>
    public QueuePlace Place
    {
        get
        {
            MessageCursor current = Current;
            return new QueuePlace(current.Queue.Topic, current.Queue.Number, current.Offset);
        }
    }

    /// <summary>Whether there is a body; it may be empty.</summary>
    public bool HasBody => Current.Record.BodyLength >= 0;

    /// <summary>The message itself; empty when there is none.</summary>
    public ReadOnlyMemory<byte> Body
    {
        get
        {
            MessageCursor current = Current;
            return current.Part(current.Record.BodyStart, current.Record.BodyLength);
        }
    }

    /// <summary>The body as text, made anew at each call; null when there is none.</summary>
    /// <exception cref="DecoderFallbackException">The body is not UTF-8: <see cref="Body"/> has its bytes.</exception>
    public string? BodyText => HasBody ? EncodedText.Strict.GetString(Body.Span) : null;

    /// <summary>Whether there is a key; it may be empty.</summary>
    public bool HasKey => Current.Record.KeyLength >= 0;

    /// <summary>The key's bytes; empty when there is none.</summary>
    public ReadOnlyMemory<byte> Key
    {
        get
        {
            MessageCursor current = Current;
            return current.Part(current.Record.KeyStart, current.Record.KeyLength);
        }
    }

    /// <summary>The key as text, made anew at each call; null when there is none. What is not UTF-8 in it becomes
    /// U+FFFD.</summary>
    public string? KeyText => HasKey ? Encoding.UTF8.GetString(Key.Span) : null;

    /// <summary>The tag, made anew at each call; null when there is none.</summary>
    public string? Tag
    {
        get
        {
            MessageCursor current = Current;
            return current.Record.TagLength < 0
                ? null
                : Encoding.UTF8.GetString(current.Part(current.Record.TagStart, current.Record.TagLength).Span);
        }
    }

    /// <summary>The tag's bytes, which need not be UTF-8; empty when there is none.</summary>
    public ReadOnlyMemory<byte> TagBytes
    {
        get
        {
            MessageCursor current = Current;
            return current.Part(current.Record.TagStart, current.Record.TagLength);
        }
    }

    /// <summary>Name-value pairs in order, read in place.</summary>
    public RecordPropertyReader Properties => Current.View.Properties;

    /// <summary>The trace context of the sender's activity, as W3C's <c>traceparent</c> spells it, made anew at each
    /// call; null when there is none.</summary>
    public string? TraceParent => MessageTrace.Find(Current.View.Properties, "traceparent"u8);

    /// <summary>What tracing systems have added to it (<c>tracestate</c>), made anew at each call; null when there is
    /// none.</summary>
    public string? TraceState => MessageTrace.Find(Current.View.Properties, "tracestate"u8);

    /// <summary>When the sender made it; at the nearest end of the years 1 to 9999 if it claims a time beyond
    /// them.</summary>
    public DateTimeOffset CreateTime => RecordTime.ToInstant(Current.View.TimestampMs);

    /// <summary>When the broker stored it.</summary>
    public DateTimeOffset StoredTime => RecordTime.ToInstant(Current.StoredTimeMs);

    private MessageCursor Current
    {
        get
        {
            if (_cursor is null || _cursor.Generation != _generation)
                ThrowGone();
            return _cursor!;
        }
    }

    /// <summary>Looks up a property by its name, without allocating; of several of one name it gives the
    /// first.</summary>
    /// <param name="name">The name, compared byte for byte as UTF-8.</param>
    /// <param name="value">Its bytes, valid until the reader goes to the next message; empty when the value is null or
    /// there is no such property.</param>
    /// <returns>Whether there is such a property; its value may be null (<see cref="Properties"/> tells that from
    /// empty).</returns>
    public bool TryGetProperty(string name, out ReadOnlySpan<byte> value)
    {
        bool found = PropertySearch.TryFind(Current.View.Properties, name, out OptionalBytes bytes);
        value = bytes.Value;
        return found;
    }

    /// <summary>Looks up a property by its name and gives its value as text; of several of one name the
    /// first.</summary>
    /// <param name="name">The name, compared byte for byte as UTF-8.</param>
    /// <returns>The value; null when there is no such property or its value is null.</returns>
    /// <exception cref="DecoderFallbackException">The value is not UTF-8:
    /// <see cref="TryGetProperty"/> gives its bytes.</exception>
    public string? GetPropertyText(string name) =>
        PropertySearch.TryFind(Current.View.Properties, name, out OptionalBytes bytes) && bytes.HasValue
            ? EncodedText.Strict.GetString(bytes.Value) : null;

    /// <summary>The trace context of the sender's activity: the parent of a span of the message's own.</summary>
    /// <returns>False when there is none, or none that W3C's rules allow.</returns>
    public bool TryGetTraceContext(out ActivityContext context) =>
        MessageTrace.TryRead(Current.View.Properties, out context);

    /// <summary>A copy that stays valid.</summary>
    public DetachedMessage Detach()
    {
        MessageCursor current = Current;
        return DetachedMessage.Copy(
            current.Queue.Topic, current.Queue.Number, current.Offset, current.StoredTimeMs, current.View);
    }

    /// <summary>What commits need, checked to be current.</summary>
    internal (QueueCursor Queue, QueueOffset Offset) Held
    {
        get
        {
            MessageCursor current = Current;
            return (current.Queue, current.Offset);
        }
    }

    private static void ThrowGone() => throw new ObjectDisposedException(
        nameof(ReceivedMessage), "The reader has gone on: Detach() the message within its own step to keep it.");
}
