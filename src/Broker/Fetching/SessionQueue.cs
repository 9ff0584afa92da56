namespace EQueue.Broker;

/// <summary>A queue of a fetch session. Belongs to the thread that serves the session.</summary>
internal sealed class SessionQueue(QueueKey key, Topic? topic)
{
    public QueueKey Key { get; } = key;

    /// <summary>As it was when the queue came; null: it has none.</summary>
    public Topic? Topic { get; } = topic;

    /// <summary>Where what is given of its topic is counted; null: it has no topic.</summary>
    public TopicTraffic? Traffic => Topic?.Traffic;

    /// <summary>The first message that the reader has not been given and that was not passed over.</summary>
    public QueueOffset Next { get; set; }

    /// <summary>Where it continues as far as the reader knows; before <see cref="Next"/> when something was passed over
    /// since.</summary>
    public QueueOffset Told { get; set; }

    /// <summary>What <see cref="Next"/> becomes when the answer under construction leaves.</summary>
    public QueueOffset NextAfterAnswer { get; set; }

    /// <summary>Its bytes in the answer under construction.</summary>
    public int GivenBytes { get; set; }

    public int MaxBytes { get; set; }

    /// <summary>Batches none of whose tag bits are in it are passed over; 0 or all ones: none.</summary>
    public uint TagMask { get; set; }

    /// <summary>Whether it stands in the session's list of queues in which something was passed over.</summary>
    public bool IsMoved { get; set; }

    /// <summary>An error known before anything was read.</summary>
    public ErrorCode Refusal { get; set; }

    /// <summary>Whether it stands in the session's ready list.</summary>
    public bool IsReady { get; set; }

    /// <summary>Whether the store will tell when there is something to read.</summary>
    public bool IsWatched { get; set; }

    /// <summary>Whether it has left the session and is only still in its lists.</summary>
    public bool IsGone { get; set; }
}
