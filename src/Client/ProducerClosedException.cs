namespace EQueue.Client;

/// <summary>A producer was closed before a message was acknowledged.</summary>
/// <remarks>Thrown by the sends that waited. A callback gets it as the cause of its
/// <see cref="EQueueException"/>.</remarks>
public sealed class ProducerClosedException : ObjectDisposedException
{
    /// <summary>Makes the exception.</summary>
    /// <param name="mayBeStored">Whether the message was on its way to the broker.</param>
    public ProducerClosedException(bool mayBeStored)
        : base(
            nameof(Producer),
            mayBeStored
                ? "The producer was closed before the message was acknowledged: it was sent and may be stored."
                : "The producer was closed before the message was sent: it is not stored.") =>
        MayBeStored = mayBeStored;

    /// <summary>False: it was never sent. True: it was sent, and no answer came.</summary>
    public bool MayBeStored { get; }
}
