using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>Learns what became of a batch that waited: the request that the batch is part of.</summary>
internal interface IBatchOutcome
{
    /// <summary>Whose request it is.</summary>
    BrokerConnection Peer { get; }

    /// <summary>A batch that waited is settled.</summary>
    /// <param name="place">As given to it.</param>
    /// <param name="item">What became of it.</param>
    void SettleWaiting(int place, AppendItem item);
}
