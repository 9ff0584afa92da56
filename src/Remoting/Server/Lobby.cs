namespace EQueue.Remoting;

/// <summary>Connections whose peers have not said who they are, the oldest first. Thread-safe.</summary>
internal sealed class Lobby
{
    private readonly Lock _lock = new();
    private readonly LinkedList<Connection> _waiting = [];

    /// <summary>A connection comes in.</summary>
    /// <returns>Its place, for <see cref="Leave"/>.</returns>
    public LinkedListNode<Connection> Enter(Connection connection)
    {
        lock (_lock)
            return _waiting.AddLast(connection);
    }

    /// <summary>Its peer is known, or it has ended; a second call does nothing.</summary>
    public void Leave(LinkedListNode<Connection> place)
    {
        lock (_lock)
        {
            if (place.List is not null)
                _waiting.Remove(place);
        }
    }

    /// <summary>Takes the one out that has been here the longest.</summary>
    public Connection? TakeOldest()
    {
        lock (_lock)
        {
            Connection? oldest = _waiting.First?.Value;
            if (oldest is not null)
                _waiting.RemoveFirst();
            return oldest;
        }
    }
}
