namespace EQueue.Broker;

/// <summary>What was given to the readers of one topic since the broker's start. What came in is counted by the store.
/// </summary>
/// <remarks>Thread-safe. Counted once for each answer and topic, never for a message.</remarks>
internal sealed class TopicTraffic
{
    private long _givenMessages;
    private long _givenBytes;

    /// <summary>Offsets that answers carried readers over; a message counts each time that it is given.</summary>
    public long GivenMessages => Volatile.Read(ref _givenMessages);

    /// <summary>Bytes of entries in answers.</summary>
    public long GivenBytes => Volatile.Read(ref _givenBytes);

    /// <summary>Counts what one answer has of the topic.</summary>
    public void Give(long messages, long bytes)
    {
        Interlocked.Add(ref _givenMessages, messages);
        Interlocked.Add(ref _givenBytes, bytes);
    }
}
