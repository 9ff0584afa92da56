namespace EQueue.Broker;

/// <summary>What a topic with a bound does with a batch.</summary>
internal enum BacklogVerdict
{
    /// <summary>Room is taken for it: it goes to the store.</summary>
    Enters,

    /// <summary>It has to wait in line.</summary>
    Waits,

    /// <summary>There is no room and the topic lets no sender wait.</summary>
    Refused,

    /// <summary>It is larger than the bound itself.</summary>
    NeverFits,
}
