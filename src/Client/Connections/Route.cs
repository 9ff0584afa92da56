using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Where the queues of topics are, as one broker told it.</summary>
/// <param name="Answer">Topics in the order asked for.</param>
/// <param name="Source">The address that answered: stands in where a broker gives none of its own.</param>
internal sealed record Route(RouteResponse Answer, ServerAddress Source)
{
    /// <summary>Where the broker of a queue listens.</summary>
    public ServerAddress AddressOf(QueueRoute queue) => AddressOf(Answer.Brokers[queue.BrokerIndex]);

    /// <summary>Where a broker listens.</summary>
    public ServerAddress AddressOf(BrokerAddress broker) => new(
        broker.Host.Length == 0 ? Source.Host : broker.Host,
        broker.Port == 0 ? Source.Port : broker.Port);
}
