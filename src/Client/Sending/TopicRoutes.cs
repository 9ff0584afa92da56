namespace EQueue.Client;

/// <summary>A route as a producer takes it up.</summary>
/// <param name="Queues">The topic's queues, by number.</param>
/// <param name="MaxMessageBytes">The largest body that every broker takes.</param>
/// <param name="IsWhole">Whether every broker has told its share.</param>
internal sealed record TopicRoutes(QueueLane[] Queues, uint MaxMessageBytes, bool IsWhole)
{
    /// <summary>Whether it tells the queue of a message: of one with a key only when it is whole.</summary>
    public bool Serves(bool isKeyed) => IsWhole || !isKeyed;
}
