namespace EQueue.Client;

/// <summary>The topic whose sends wait in a line, as far as the line has to know it.</summary>
internal interface IAdmission
{
    /// <summary>The topic's name.</summary>
    string Name { get; }

    /// <summary>Whether the route is known.</summary>
    bool IsResolved { get; }

    /// <summary>Whether every broker has told its share.</summary>
    bool IsWhole { get; }

    /// <summary>Whether the route is known as far as a message needs it: with a key, the whole of it.</summary>
    bool IsKnownFor(bool isKeyed);

    /// <summary>Learns where the queues are, unless that is known.</summary>
    ValueTask ResolveAsync(bool isKeyed, CancellationToken cancellationToken);

    /// <summary>Puts a message into a batch if that needs no waiting.</summary>
    /// <exception cref="EQueueException">MessageTooLarge.</exception>
    bool TryAppendNow(in RecordContent content, SendCallback callback, object? state);

    /// <summary>The failure of a send whose time is over: what it waited for in vain.</summary>
    /// <param name="isKeyed">Whether it needs the whole route.</param>
    EQueueException ShortageFor(bool isKeyed);
}
